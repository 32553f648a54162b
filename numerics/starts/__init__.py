"""Starts: initialisations that fix the balance of the layers, and networks that know a task."""
