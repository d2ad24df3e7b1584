"""The heart: one pass turns data into counts that add up; every method works on these counts alone."""

from pacshift.tally.stores import SoftSums
from pacshift.tally.tally import Tally

__all__ = ["SoftSums", "Tally"]
