"""The rules of claims.yaml as tests: measurements of study 004 -> findings, a file for each group of claims."""
