"""Tables of study 003: measurements -> a table, one file each."""
