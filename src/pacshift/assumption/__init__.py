"""The test of label shift: can a mix of the source's classes explain what the classifier says about the target?"""

from pacshift.assumption.check import ASSUMPTION_SHARE, check_assumption
from pacshift.assumption.evidence import Assumption
from pacshift.assumption.words import CANNOT_SEE, ways_on

__all__ = ["ASSUMPTION_SHARE", "CANNOT_SEE", "Assumption", "check_assumption", "ways_on"]
