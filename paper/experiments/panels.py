"""The panels of the paper as data: those of section 4 and of the appendices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.errors import InputError

DELTA = 5e-4
"""δ of every panel: with probability about 0.95 all of 100 trials keep the guarantee."""

BASELINES = ("PS", "PS-C", "PS-R", "PS-W", "WCP")
"""The methods of every figure, in the order the paper draws them."""

STANDARD = (*BASELINES, "PS-LP")


@dataclass(frozen=True)
class Panel:
    """One experiment at one ε: a data set, two label mixes and the sample sizes m, n, o.

    Attributes
    ----------
    row : str
        Name of the shift, shared by the panels that differ only in ε.
    dataset : str
        Name of the data set.
    source_mix : tuple of float
        Label mix of the source, adding up to 1.
    target_mix : tuple of float
        Label mix of the target, adding up to 1.
    epsilon : float
        Allowed error.
    n_source : int
        Labelled source rows drawn per trial.
    n_target : int
        Unlabelled target rows drawn per trial.
    n_test : int
        Labelled target rows per trial, on which sets are measured.
    figure : str
        The LaTeX label of the paper's figure, or of its section.
    extras : tuple of str
        Methods the paper shows on this panel beyond the standard ones.
    delta : float
        Allowed chance of a misleading calibration draw.
    drawn_as : str
        For a variant: the row of the paper whose draws it repeats, row number by row number.

    Examples
    --------
    >>> panel = select_panels(["heart-large-0.1"])[0]
    >>> panel.n_classes, panel.n_source, panel.extras
    (2, 42000, ('ORACLE',))
    """

    row: str
    dataset: str
    source_mix: tuple[float, ...]
    target_mix: tuple[float, ...]
    epsilon: float
    n_source: int
    n_target: int
    n_test: int
    figure: str = "own data"
    extras: tuple[str, ...] = ()
    delta: float = DELTA
    drawn_as: str = ""

    @property
    def name(self) -> str:
        """What the command line and the files call the panel."""
        return f"{self.row}-{self.epsilon:g}"

    @property
    def drawn_name(self) -> str:
        """What seeds the draws: a variant repeats those of its panel."""
        return f"{self.drawn_as or self.row}-{self.epsilon:g}"

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.source_mix)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods shown by default: the standard ones in the paper's order, then the extras."""
        return (*STANDARD, *self.extras)

    @property
    def weights(self) -> FloatArray:
        """The true w* = q(y)/p(y), which is given to ORACLE."""
        source, target = np.array(self.source_mix), np.array(self.target_mix)
        return np.asarray(np.divide(target, source, out=np.zeros_like(target), where=source > 0))


def mix(*shares: float) -> tuple[float, ...]:
    """Shares in percent as they are printed, normalised to sum to 1.

    >>> mix(94, 6)
    (0.94, 0.06)
    """
    total = sum(shares)
    return tuple(share / total for share in shares)


def _row(
    row: str,
    dataset: str,
    mixes: tuple[tuple[float, ...], tuple[float, ...]],
    sizes: tuple[int, int, int],
    figures: dict[float, str],
    extras: dict[float, tuple[str, ...]] | None = None,
) -> tuple[Panel, ...]:
    """One row of the table: the same shift at several ε."""
    return tuple(
        Panel(row, dataset, *mixes, epsilon, *sizes, figure=figure, extras=(extras or {}).get(epsilon, ()))
        for epsilon, figure in figures.items()
    )


_HEART = (42_000, 42_000, 9_750)
_MORE = "sec:more"
_CIFAR_UNIFORM = mix(*[10] * 10)
_CHEST = (mix(*[19.1] * 4, 4.5, 19.1), mix(*[11.1] * 4, 44.5, 11.1))

PANELS: tuple[Panel, ...] = (
    *_row(
        "heart-small",
        "heart",
        (mix(94, 6), mix(91.3, 8.7)),
        _HEART,
        {0.1: "fig:cdc1", 0.05: _MORE, 0.03: _MORE},
        {0.1: ("LWCP", "PS-LW", "APS")},
    ),
    *_row(
        "heart-large",
        "heart",
        (mix(94, 6), mix(63.6, 36.4)),
        _HEART,
        {0.1: "fig:cdc2", 0.05: _MORE, 0.03: _MORE},
        {0.1: ("ORACLE",)},
    ),
    *_row("heart-small-reversed", "heart", (mix(91.3, 8.7), mix(94, 6)), _HEART, {0.05: _MORE}),
    *_row("heart-large-reversed", "heart", (mix(63.6, 36.4), mix(94, 6)), _HEART, {0.03: _MORE}),
    *_row(
        "cifar10-large",
        "cifar10",
        (_CIFAR_UNIFORM, mix(*[6.7] * 3, 40, *[6.7] * 6)),
        (27_000, 19_997, 19_997),
        {0.1: "fig:cifar1", 0.05: _MORE, 0.03: _MORE},
        {0.1: ("ORACLE",)},
    ),
    *_row(
        "cifar10-small",
        "cifar10",
        (_CIFAR_UNIFORM, mix(*[9.1] * 3, 18.2, *[9.1] * 6)),
        (27_000, 16_500, 16_500),
        {0.1: "fig:cifar2"},
    ),
    *_row(
        "agnews",
        "agnews",
        (mix(30.8, 30.8, 7.7, 30.8), mix(12.5, 12.5, 62.5, 12.5)),
        (26_000, 12_800, 12_800),
        {0.05: "fig:ag", 0.03: _MORE, 0.1: _MORE},
    ),
    *_row(
        "entity13",
        "entity13",
        (mix(*[7.7] * 13), mix(7.1, *[3.6] * 4, 10.71, 3.6, 7.1, 43.69, *[3.6] * 4)),
        (52_000, 21_000, 4_667),
        {0.1: "fig:entity13-main", 0.05: _MORE, 0.03: _MORE},
    ),
    *_row("chestxray", "chestxray", _CHEST, (67_200, 35_200, 3_520), {0.3: "fig:ch", 0.1: _MORE}),
    *_row("chestxray-half", "chestxray", _CHEST, (33_600, 17_600, 3_520), {0.3: _MORE}),
)
"""All 21 panels, one for each shift and ε."""

PANEL_NAMES = tuple(panel.name for panel in PANELS)

VARIANTS: tuple[Panel, ...] = tuple(
    replace(
        panel,
        row=panel.row.replace("heart", "heart-natural"),
        dataset="heart-natural",
        figure=f"variant of {panel.figure}",
        drawn_as=panel.row,
    )
    for panel in PANELS
    if panel.dataset == "heart"
)
"""The heart panels with a model that was fitted at the natural mix, 9.4 % sick, as the paper could be read. The
authors' code leaves healthy rows out before it fits, and so does the model of the panels proper."""

NATURAL_PANELS = (*VARIANTS, *(panel for panel in PANELS if panel.dataset != "heart"))
"""The 21 panels with the variants in their places."""


def select_panels(names: Sequence[str]) -> tuple[Panel, ...]:
    """Select panels by name (``heart-small-0.1``), shift (``heart-small``), data set (``heart``) or ``all``.

    Parameters
    ----------
    names : sequence of str
        ``all`` means those of the paper; variants are selected by their own names.

    Returns
    -------
    tuple of Panel
        In the order of the paper, each once.

    Raises
    ------
    InputError
        If a name matches no panel.

    Examples
    --------
    >>> [panel.name for panel in select_panels(["cifar10-small", "agnews-0.05"])]
    ['cifar10-small-0.1', 'agnews-0.05']
    """
    wanted: set[str] = set()
    for name in names:
        found = {p.name for p in (*PANELS, *VARIANTS) if name in (p.name, p.row, p.dataset)}
        found |= set(PANEL_NAMES) if name == "all" else set()
        if not found:
            rows = ", ".join(dict.fromkeys(panel.row for panel in PANELS))
            raise InputError(
                f"panel {name!r} is not one of the paper's. Use 'all', a data set, a shift ({rows}) "
                f"or a shift with its ε, such as {PANEL_NAMES[0]!r}."
            )
        wanted |= found
    return tuple(panel for panel in (*PANELS, *VARIANTS) if panel.name in wanted)
