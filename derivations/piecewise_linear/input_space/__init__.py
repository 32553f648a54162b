"""The partition of input space into activation regions: boundaries, colours, convexity."""
