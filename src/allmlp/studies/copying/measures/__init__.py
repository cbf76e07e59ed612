"""Measures of study 002: one run's checkpoints -> a tidy table."""
