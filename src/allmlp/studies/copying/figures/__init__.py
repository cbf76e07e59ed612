"""Figures of study 002: measurements -> a figure."""
