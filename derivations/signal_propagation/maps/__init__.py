"""The length and correlation maps: fixed points, the slope χ, closed forms, depth scales."""
