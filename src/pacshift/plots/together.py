"""A certificate in one figure."""

from collections.abc import Callable

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from pacshift.certificate import Certificate
from pacshift.plots.axes import MAX_CLASSES_SHOWN, WIDTH, class_height
from pacshift.plots.certificate import label_mix, set_sizes
from pacshift.plots.trust import class_misses

TITLE_HEIGHT, MIN_HEIGHT = 0.4, 2.4  # inches


def overview(certificate: Certificate) -> list[Axes]:
    """Draw label mix, misses by class and set sizes side by side, as far as the certificate has them.

    ``certificate.plot()`` calls this.

    Parameters
    ----------
    certificate : Certificate
        Any certificate.

    Returns
    -------
    list of matplotlib.axes.Axes
        The axes of each picture, from left to right.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> certificate = calibrate(scores, labels, scores, method="PS-LW").with_set_sizes(scores)
    >>> [ax.figure.get_suptitle() for ax in overview(certificate)]
    ['Label mix', 'Missed, class by class', 'Set sizes']
    """
    pictures: list[tuple[str, Callable[..., Axes]]] = [("Label mix", label_mix)]
    if certificate.class_miss is not None:
        pictures.append(("Missed, class by class", class_misses))
    if certificate.set_sizes is not None:
        pictures.append(("Set sizes", set_sizes))
    height = max(class_height(min(len(certificate.classes), MAX_CLASSES_SHOWN)), MIN_HEIGHT) + TITLE_HEIGHT
    figure = plt.figure(figsize=(WIDTH * len(pictures), height), layout="constrained")
    axes = []
    for part, (title, draw) in zip(figure.subfigures(1, len(pictures), squeeze=False)[0], pictures, strict=True):
        part.suptitle(title)  # the title of a part leaves room for the legend above the axes
        axes.append(draw(certificate, ax=part.subplots()))
    return axes
