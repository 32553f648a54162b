"""Phases of learning far from balance and from small starts: time scales, silent alignment."""
