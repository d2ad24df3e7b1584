"""Nested thresholds per class, planned on rows that do not certify them: for PS-LP's tuned thresholds and PS-T.

sample (rows to plan with) -> posterior -> path (curves, the path). ``labelled`` and ``looks`` are PS-T
(docs/methods/ps-t.md).
"""
