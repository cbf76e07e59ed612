"""What a run, a measure, a claim and a study are: declarations, without anything that runs."""
