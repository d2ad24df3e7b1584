"""The test of label shift: can a mix of the source's classes explain what the classifier says about the target?

Constants of its power were chosen on heart, CIFAR-10 and Entity-13 scores at level 0.005, those for many classes
on ImageNet scores. Some say what they are worth: log-wealth lost on difficult draws without them, where the hurdle
is 5.5. Validity rests on none of them.
"""

from pacshift.assumption.check import Assumption, check_assumption
from pacshift.assumption.words import Noticeable

__all__ = ["Assumption", "Noticeable", "check_assumption"]
