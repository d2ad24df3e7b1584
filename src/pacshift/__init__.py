"""Prediction sets you can still trust after the label mix has changed."""

__version__ = "0.1.0"
