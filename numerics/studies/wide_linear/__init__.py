"""Studies of wide linear networks."""
