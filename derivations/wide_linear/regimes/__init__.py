"""Lazy, rich and delayed rich: what large balances and the overall scale decide."""
