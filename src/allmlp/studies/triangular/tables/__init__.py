"""Tables of study 004: measurements -> a table, one file each."""
