"""A sheet of target rows to be labelled, in random order: which of them tune, which test, when one may look."""

from pacshift.certification.label_sheet.make import label_sheet
from pacshift.certification.label_sheet.sheet import LabelSheet

__all__ = ["LabelSheet", "label_sheet"]
