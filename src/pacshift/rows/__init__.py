"""Rows of scores, wherever they lie: in memory, in files and frames, on a cluster."""
