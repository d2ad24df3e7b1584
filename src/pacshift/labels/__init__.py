"""Labels of the target: the sheet of rows to label, its file, what its labels say, and what they would bring."""
