"""Exact solutions against trained networks: trajectories, coupled modes, and how they decouple."""
