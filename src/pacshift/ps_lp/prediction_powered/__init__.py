"""Many classes: the target's predictions correct the source's misses, without linear programs.

The proof is on a page of its own (docs/methods/many-classes.md; docs/methods/ps-lp-proof.md says when it is used):
box -> bound -> correction, options -> thresholds. ``evidence`` holds the counts that they share.
"""
