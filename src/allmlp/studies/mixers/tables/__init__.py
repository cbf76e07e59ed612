"""Tables of study 001: measurements -> rows."""
