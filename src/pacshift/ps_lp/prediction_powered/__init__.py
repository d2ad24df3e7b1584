"""Many classes: the target's predictions correct the source's misses, without linear programs.

The proof is on a page of its own (docs/methods/many-classes.md; docs/methods/ps-lp-proof.md says when it is used):
bound (the counts, the box, the bound of one threshold vector) -> thresholds (options, the search, all thresholds).

Constants say what they are worth: the change of the mean set size if this one alone has another value, over four
draws of CIFAR-100 scores (two nets, 20,000 and 50,000 rows on each side); where it is said, ImageNet scores with
100,000 and 50,000 rows too. Differences below 0.5 % are noise.
"""
