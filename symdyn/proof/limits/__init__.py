"""Limits and orders, by expansions with a remainder that hold at every point of a cell."""
