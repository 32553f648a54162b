"""Studies of linear networks that learn with prior knowledge."""
