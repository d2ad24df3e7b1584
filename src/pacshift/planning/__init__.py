"""Before the next certificate: how much data gives sets of which size?"""

from pacshift.planning.solve import Plan, plan

__all__ = ["Plan", "plan"]
