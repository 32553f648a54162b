"""Modes in the basis of the task: decoupled starts, two modes and their coupling, small and large starts."""
