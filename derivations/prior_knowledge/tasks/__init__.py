"""Tasks in a row: forgetting, reversal, revision."""
