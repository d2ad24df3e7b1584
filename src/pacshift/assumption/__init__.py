"""The test of label shift: can a mix of the source's classes explain what the classifier says about the target?

Constants of its power say what they are worth: how many of 176 draws are refused if this one alone has another
value, where 126 are refused as it is. The draws are the violations of ``benchmarks/violations.py`` on simulated
scores and on seven real score sets, with 2,000 and 5,000 rows on each side, at level 0.005. Differences of 2 are
noise.
"""

from pacshift.assumption.check import ASSUMPTION_SHARE, check_assumption
from pacshift.assumption.evidence import Assumption
from pacshift.assumption.words import CANNOT_SEE, OTHER_WAYS, ways_on

__all__ = ["ASSUMPTION_SHARE", "CANNOT_SEE", "OTHER_WAYS", "Assumption", "check_assumption", "ways_on"]
