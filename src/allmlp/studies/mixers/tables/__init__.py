"""Tables of study 001: measurements -> a table."""
