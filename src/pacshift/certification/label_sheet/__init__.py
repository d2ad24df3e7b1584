"""A sheet of target rows to be labelled, in random order: which of them tune, which test, when one may look."""

from pacshift.certification.label_sheet.sheet import LabelSheet, label_sheet

__all__ = ["LabelSheet", "label_sheet"]
