"""Nested thresholds per class, planned on rows that do not certify them: for PS-LP's tuned thresholds and PS-T."""
