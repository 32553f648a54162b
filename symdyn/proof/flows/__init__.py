"""What is claimed along flows, and of solutions at all times."""
