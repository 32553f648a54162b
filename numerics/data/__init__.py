"""The data that networks learn: generated tasks."""
