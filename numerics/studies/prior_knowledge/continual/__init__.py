"""Continual learning: forgetting, chains of tasks, and balance along them."""
