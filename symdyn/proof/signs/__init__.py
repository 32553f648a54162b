"""Which sign an expression has, and where it is defined: from facts, slopes, enclosures, cases and exact points."""
