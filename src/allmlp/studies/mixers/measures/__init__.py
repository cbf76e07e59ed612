"""Measures of study 001: one run's checkpoints -> a tidy table."""
