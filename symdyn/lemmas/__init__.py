"""What a statement claims of scalars, written as lemmas over the real numbers, for the kernel and for Rocq."""
