"""A certificate as one HTML page that a clinician, an auditor or a browser without a network can read."""

from pacshift.report.build import render_report, write_report
from pacshift.report.comparison import ComparisonRow

__all__ = ["ComparisonRow", "render_report", "write_report"]
