"""Measures of study 003: one run's checkpoints -> a tidy table."""
