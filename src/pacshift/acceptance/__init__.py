"""Accept the top label or ask: at most a share of what is accepted is wrong (docs/methods/accept.md).

``tops`` counts rows by predicted label and top score, all that a rule can tell apart. ``plan`` looks at held-out
rows alone: which rules are tried, in which order, with which bets. ``wealth`` tests a rule on the other rows.
"""
