"""The contestants: this package, its floor, and the peers, each in its own environment under ``.bench/``."""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / ".bench"


@dataclass(frozen=True)
class Peer:
    """A library and how pip installs it; each step is one call of ``pip install``."""

    name: str
    package: str
    steps: tuple[tuple[str, ...], ...]


PEERS = (
    Peer("mapie", "MAPIE", (("MAPIE==1.6.0",),)),
    Peer("crepes", "crepes", (("crepes==0.9.1", "scikit-learn"),)),  # imports scikit-learn without saying so
    Peer("puncc", "puncc", (("puncc==0.9.3",),)),
    Peer("ssbc", "ssbc", (("ssbc==1.4.0",),)),
    Peer(
        "torchcp",
        "torchcp",
        # Without torchsort and torchvision, which calibrating does not use: see contestants/torchcp.py.
        (
            ("torch==2.13.0", "numpy", "pandas", "scikit-learn", "tqdm", "transformers", "torch_geometric"),
            ("--no-deps", "torchcp==1.2.1"),
        ),
    ),
)


@dataclass(frozen=True)
class Entry:
    """One line of the tables: a setting of a library and what the library promises for it."""

    library: str
    setting: str
    title: str
    promise: str
    both: bool = False
    """Whether calibrating uses both domains."""


_MARGINAL = "error ≤ ε on average over calibration draws, if target = source"
_PAC_BY_CLASS = "error ≤ ε class by class: any label mix; for each class all but a share δ of calibration draws"
_BY_CLASS = "error ≤ ε on average over calibration draws, class by class: any label mix"

FLOOR = Entry("floor", "floor", "floor (no method)", "nothing", both=True)
OURS = tuple(
    Entry("pacshift", method, f"**pacshift {method}**", "", both=True) for method in ("PS-LP", "PS-W", "PS")
)
THEIRS = (
    Entry("mapie", "LAC", "MAPIE LAC", _MARGINAL),
    Entry("mapie", "APS", "MAPIE APS", _MARGINAL),
    Entry("torchcp", "LAC", "TorchCP LAC", _MARGINAL),
    Entry("torchcp", "APS", "TorchCP APS", _MARGINAL),
    Entry("torchcp", "class-conditional LAC", "TorchCP class-conditional LAC", _BY_CLASS),
    Entry("puncc", "LAC", "puncc LAC", _MARGINAL),
    Entry("puncc", "APS", "puncc APS", _MARGINAL),
    Entry("puncc", "RAPS", "puncc RAPS", _MARGINAL),
    Entry("puncc", "class-conditional LAC", "puncc class-conditional LAC", _BY_CLASS),
    Entry("ssbc", "class-wise PAC", "ssbc, class by class", _PAC_BY_CLASS),
    Entry("crepes", "plain", "crepes", _MARGINAL),
    Entry("crepes", "class-conditional", "crepes class-conditional", _BY_CLASS),
)


@dataclass(frozen=True)
class Stage:
    """The environments that are ready, and why the others are not."""

    pythons: dict[str, Path]
    versions: dict[str, str]
    missing: dict[str, str]

    def ready(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return tuple(entry for entry in entries if entry.library in self.pythons)

    def among(self, entries: tuple[Entry, ...]) -> "Stage":
        """The same stage, with versions and reasons of the libraries of these entries only."""
        wanted = {entry.library for entry in entries}
        packages = {peer.package for peer in PEERS if peer.name in wanted}
        versions, missing = (
            {package: text for package, text in found.items() if package in packages}
            for found in (self.versions, self.missing)
        )
        return Stage(self.pythons, versions, missing)


def home_stage() -> Stage:
    """Only what runs in this environment: the package and the floor."""
    here = Path(sys.executable)
    return Stage({"pacshift": here, "floor": here}, {}, {})


def full_stage(say: Callable[[str], None]) -> Stage:
    """Everybody. The first run installs the peers, later runs reuse them."""
    stage = home_stage()
    for peer in PEERS:
        reason = prepare(peer, say)
        if reason:
            stage.missing[peer.package] = reason
            say(f"{peer.package} cannot be measured: {reason}")
        else:
            stage.pythons[peer.name] = _python(peer.name)
            stage.versions[peer.package] = _version(peer)
    return stage


def prepare(peer: Peer, say: Callable[[str], None]) -> str | None:
    """Make the peer's environment; the reason if that fails."""
    stamp = STORE / peer.name / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == [list(step) for step in peer.steps]:
        return None
    say(f"installing {peer.package} into .bench/{peer.name}, once")
    venv.create(STORE / peer.name, with_pip=True, clear=True)
    for step in peer.steps:
        command = [str(_python(peer.name)), "-m", "pip", "install", "--disable-pip-version-check", "-q", *step]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            return failure_reason(result.stderr)
    stamp.write_text(json.dumps(peer.steps))
    return None


def failure_reason(stderr: str) -> str:
    """pip's last error line.

    >>> failure_reason("WARNING: cache\\nERROR: No version\\nERROR: No distribution for x==1\\nhint: see above\\n")
    'ERROR: No distribution for x==1'
    >>> failure_reason("")
    'pip gave no reason'
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["pip gave no reason"])[-1]


def _python(name: str) -> Path:
    return STORE / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _version(peer: Peer) -> str:
    code = f"import importlib.metadata as m; print(m.version({peer.package!r}), m.version('numpy'))"
    version, numpy = subprocess.check_output([_python(peer.name), "-c", code], text=True).split()
    return f"{version} (NumPy {numpy})"


class JobFailed(RuntimeError):
    """A contestant could not do the job; the message is the last line of its error."""


def run_job(stage: Stage, entry: Entry, job: dict[str, Any], folder: Path) -> Any:
    """Run one job in the contestant's environment; JobFailed says why there is no answer.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_job(home_stage(), Entry("pacshift", "no such method", "x", ""), {"kind": "speed"}, Path(folder))
    Traceback (most recent call last):
    benchmarks.peers.JobFailed: KeyError: 'no such method'
    """
    path = folder / "job.json"
    path.write_text(json.dumps(job | {"library": entry.library, "setting": entry.setting, "folder": str(folder)}))
    return answer_of([str(stage.pythons[entry.library]), "-m", "benchmarks.worker", str(path)])


def answer_of(command: list[str], env: dict[str, str] | None = None) -> Any:
    """What a process says in its last line, as JSON; JobFailed says why there is no answer."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=env)
    if done.returncode:
        raise JobFailed((done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout.splitlines()[-1])
