"""The laboratory: studies, the running and keeping of them, their evidence, claims and figures."""
