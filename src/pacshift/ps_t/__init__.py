"""Certified by a few labels of the target, whatever the shift: how many rows test, and what each look allows."""
