"""``python -m paper reproduce`` as a function: run panels, then write tables, figures and the page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pacshift.errors import InputError
from pacshift.methods import Method
from pacshift.scores.check import check_rate
from paper.experiments.panels import DELTA, Panel, mix
from paper.experiments.runner import PanelResult, Progress, run_panels, with_earlier
from paper.experiments.summary import write_figures, write_page, write_summary, write_tables
from paper.experiments.trial import Experiment


def run_reproduce(
    panels: Sequence[Panel],
    out: Path,
    *,
    trials: int = 100,
    methods: Sequence[str | Method] | None = None,
    workers: int | None = None,
    population: bool = False,
    seed: int = 0,
    data_dir: str | None = None,
    scores_file: str | None = None,
    progress: Progress | None = None,
) -> tuple[PanelResult, ...]:
    """Run panels and fill a folder with tables, figures and a page. Resumes after an interruption.

    Parameters
    ----------
    panels : sequence of Panel
        What to run; ``select_panels`` finds those of the paper.
    out : pathlib.Path
        Folder for the results. Trials already in it are not run again, and other panels in it stay on the page.
    trials : int
        Draws per panel.
    methods : sequence of str or Method, optional
        Names, or objects: a method with other options, or one of your own. With several workers its class must be
        at the top level of a module or script. Default: those that the paper shows on each panel, and PS-LP.
    workers : int, optional
        Processes; default: all cores. The results do not depend on it.
    population : bool
        Draw source and target from one base, so that errors and sizes are exact.
    seed : int
        The same seed gives the same results.
    data_dir : str, optional
        Folder of real scores; default: ``PACSHIFT_DATA``, else what the package ships.
    scores_file : str, optional
        Your own scores, used instead of the panel's data set.
    progress : callable, optional
        Called with (trials done, trials in all, panel just worked on).

    Returns
    -------
    tuple of PanelResult
        One per panel.

    Raises
    ------
    InputError
        If a number is out of range, a method is unknown, or the mixes do not fit the data.

    Examples
    --------
    >>> import tempfile
    >>> from paper.experiments import run_reproduce, select_panels
    >>> panels = select_panels(["agnews-0.05"])
    >>> [result] = run_reproduce(panels, Path(tempfile.mkdtemp()), trials=1, methods=["PS"], workers=1)
    >>> len(result.rows)
    1
    """
    for name, value in (("trials", trials), ("workers", 1 if workers is None else workers)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}.")
    if seed < 0:
        raise InputError(f"seed must not be negative, got {seed}.")
    experiments = [Experiment(panel, seed, population, data_dir, scores_file) for panel in panels]
    results = run_panels(experiments, out, trials=trials, methods=methods, workers=workers, progress=progress)
    shown = with_earlier(results, out)
    note = describe_run(shown)
    write_tables(shown, out)
    write_summary(shown, out / "summary.md", note)
    write_figures(results, out / "figures")
    write_page(shown, out / "figures", out / "index.html", note)
    return results


HOW = {
    False: "as in the paper, one half of the base for the source, the other for the target and the test rows",
    True: "population mode, source and target drawn from one base, error and size exact on the target",
}


def describe_run(results: Sequence[PanelResult]) -> str:
    """Describe a run in one paragraph, for readers of its tables."""
    ran: dict[str, list[str]] = {}
    for one in results:
        trials = f"{one.n_trials} trial{'s' * (one.n_trials > 1)}"
        how = f"{trials} per panel, seed {one.seed}, δ = {one.panel.delta:g}, {HOW[one.population]}"
        ran.setdefault(how, []).append(one.panel.name)
    ways = [how + (f" ({', '.join(names)})" if len(ran) > 1 else "") for how, names in ran.items()]
    return (
        f"{'. '.join(ways)}. Data: {'; '.join(sorted({result.story for result in results}))}. "
        "“Excess over best” compares the mean size with that of the best single threshold, found with full "
        "knowledge of the target. The methods run on every draw, also where `calibrate` would refuse it because "
        "its test refutes label shift; the last column counts these draws."
    )


def own_panels(
    name: str,
    source_mix: Sequence[float],
    target_mix: Sequence[float],
    epsilons: Sequence[float],
    sizes: tuple[int, int, int],
    *,
    delta: float = DELTA,
) -> tuple[Panel, ...]:
    """Make panels for the user's own scores, one per ε. Shares may be percentages or anything proportional."""
    for word, shares in (("source", source_mix), ("target", target_mix)):
        if len(shares) < 2 or min(shares) < 0 or sum(shares) <= 0:
            raise InputError(
                f"the {word} mix must give every class a share >= 0, some above 0, got {list(shares)}."
            )
    if len(source_mix) != len(target_mix):
        raise InputError(f"the mixes must be equally long, got {len(source_mix)} and {len(target_mix)} shares.")
    unseen = [k for k, (p, q) in enumerate(zip(source_mix, target_mix, strict=True)) if q > 0 >= p]
    if unseen:
        raise InputError(
            f"class {unseen[0]} has a share in the target mix but none in the source mix: its weight would be "
            "infinite. Give it a share in the source mix."
        )
    if min(sizes) < 1:
        raise InputError(f"sample sizes must be at least 1, got {sizes}.")
    delta = check_rate(delta, "delta")
    return tuple(
        Panel(name, name, mix(*source_mix), mix(*target_mix), check_rate(epsilon, "epsilon"), *sizes, delta=delta)
        for epsilon in epsilons
    )


def at_epsilon(panels: Sequence[Panel], epsilons: Sequence[float]) -> tuple[Panel, ...]:
    """The shifts of ``panels`` with other ε than those of the paper."""
    rows = {panel.row: panel for panel in reversed(panels)}
    return tuple(
        replace(panel, epsilon=check_rate(epsilon, "epsilon"))
        for panel in reversed(rows.values())
        for epsilon in epsilons
    )
