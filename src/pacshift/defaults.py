"""What is promised unless the user asks for something else, in Python and on the command line alike."""

EPSILON = 0.1
"""Share of the target's true labels that the sets may miss."""

DELTA = 0.05
"""Chance that the calibration data mislead us, so that the sets miss more."""

DROPPED_SHARE = 0.05
"""Share of rows that may be left out because they cannot be used, if leaving out is asked for."""

ACCEPTED_ERROR = 0.05
"""Largest share of what is accepted that may be wrong."""
