"""The low-rank network, and lengths and overlaps in its wide limit."""
