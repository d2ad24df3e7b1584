"""Plain words for what the test saw."""


def ways_on() -> str:
    """What to do after a refusal, in plain words.

    Returns
    -------
    str
        A few sentences.

    Examples
    --------
    >>> ways_on().startswith("Ways on:")
    True
    """
    return (
        "Ways on: (1) label a few hundred random target rows and calibrate on them; (2) if the implied label mix "
        "cannot be right, say what you know about it with known_mix; (3) if only a small share of the target is "
        "of a new kind, allow for it with contamination; (4) train a classifier on rows of both populations."
    )
