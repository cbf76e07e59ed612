"""From measurements to verdicts: statistics, rules, evidence."""
