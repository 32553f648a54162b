"""Speed, as ratios measured in one run: ``python -m benchmarks.NAME`` prints a table and can write JSON."""
