"""Gradients through low-rank layers, and their mean squares."""
