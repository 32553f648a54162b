"""From which starts the task is learned, and how long the others wait."""
