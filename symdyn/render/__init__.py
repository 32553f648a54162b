"""How results look: LaTeX of a statement and of its steps, notebook representations, and the book."""
