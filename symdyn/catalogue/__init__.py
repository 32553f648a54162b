"""Results: made, found, kept, audited and cited."""
