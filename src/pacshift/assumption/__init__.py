"""The test of label shift: can a mix of the source's classes explain what the classifier says about the target?"""

from pacshift.assumption.check import ASSUMPTION_SHARE, check_assumption
from pacshift.assumption.evidence import Assumption
from pacshift.assumption.words import ways_on

__all__ = ["ASSUMPTION_SHARE", "Assumption", "check_assumption", "ways_on"]
