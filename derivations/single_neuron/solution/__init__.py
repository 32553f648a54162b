"""Exact trajectories on whitened data: upstream, balanced and downstream by Riccati equations, and all in one."""
