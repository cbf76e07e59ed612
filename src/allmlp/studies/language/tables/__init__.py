"""Tables of study 000: measurements -> a table, one file each."""
