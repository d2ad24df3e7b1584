"""Readers of the official formats. They need NumPy, pyarrow (tables) and Pillow (images), never torch."""
