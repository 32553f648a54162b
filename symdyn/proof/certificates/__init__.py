"""The search for certificates that the kernel checks, and what it says of the claims of a statement."""
