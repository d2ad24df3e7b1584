"""PS-LP, module by module in the order of its proof page (docs/methods/ps-lp-proof.md).

theorem (shares of δ, all together, the curve) -> (mix: tails, region) -> betting -> tuned -> equal_miss_rate ->
prediction_powered (many classes).

Constants say what they are worth: the change of the mean set size if this one alone has another value, on fifteen
development cases that nothing is reported on (MNIST, CIFAR-10 by five nets, chest X-rays by a weaker net, heart
2020 and AG News by GPT-2, most with one class far more frequent in the target; "large": 30 draws of 20,000 rows
on each side; "middle": 16 of 5,000) and on nine small samples ("small": 27 of 1,000). Differences below 0.1 % are
noise.
"""
