"""PS-LP, module by module in the order of its proof page (docs/methods/ps-lp-proof.md).

method -> tails -> region -> stakes, betting -> curves, tuned -> equal_miss_rate, convolution -> many_classes ->
curve; ``programs`` holds the linear programs of region and betting, ``reasons`` what is said when sets are large.
"""
