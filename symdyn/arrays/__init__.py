"""The array runtime that compiled and hand-written functions share: NumPy or torch, by what comes in."""
