"""Tables of the crossover: measurements -> a table, one file each."""
