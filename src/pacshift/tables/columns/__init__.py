"""Which columns of a table hold the scores and the label, and which class each score belongs to."""
