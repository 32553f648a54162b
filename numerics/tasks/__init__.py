"""Tasks: teachers and students, trees of living things, and tasks in a row."""
