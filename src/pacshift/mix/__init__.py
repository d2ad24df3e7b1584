"""The polytope of label mixes that fit the counts, for the test, PS-LP and prevalence.

Constants say what they are worth for PS-LP, with the yardstick of ``pacshift.ps_lp``.
"""
