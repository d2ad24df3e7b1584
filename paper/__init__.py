"""The paper: its experiments, the training of its models, and the data for both. Run from a checkout.

``python -m paper reproduce`` repeats the experiments, ``python -m paper train`` makes scores from raw data.
Nothing of this is in the package that pip installs; it calls the package as any user would.
"""
