"""Upstream, balanced and downstream neurons, and the starts between which experiments go."""
