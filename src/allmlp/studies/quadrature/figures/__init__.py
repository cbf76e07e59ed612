"""Figures of study 003: measurements -> a figure."""
