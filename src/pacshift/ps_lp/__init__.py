"""PS-LP, module by module in the order of its proof page (docs/methods/ps-lp-proof.md).

kinds -> (mix: tails, region) -> stakes, betting, worst_case -> score_curves, tuned -> equal_miss_rate,
convolution -> many_classes -> bound_curve; ``reasons`` holds what is said when sets are large.
"""
