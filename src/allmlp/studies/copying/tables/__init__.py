"""Tables of study 002: measurements -> a table, one file each."""
