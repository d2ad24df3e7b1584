"""Every command that writes, ready to be disturbed: what it is called with, what it writes, how it is started."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from soak.damage import environment, write_samples
from soak.outcome import require_whole
from soak.samples import NAMES, make_table

START = "from pacshift_command import main; main()"
PAPER = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from paper.__main__ import main; main()"
)
ROWS = 1_000_000  # three batches of `predict`
PLANNED = ("--target-mix", f"{NAMES[0]}=1", "--n-source", "500", "--n-target", "500", "-m", "PS-LW")
SAME_BYTES = (".parquet", ".feather", ".csv", ".tally")


@dataclass(frozen=True)
class Writing:
    """A command and the file or folder it writes."""

    name: str
    words: tuple[str, ...]
    out: str
    program: str = START

    def start(self, folder: Path, **options: int) -> "subprocess.Popen[str]":
        """The command as a process of its own."""
        words = [sys.executable, "-c", self.program, *self.words]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, cwd=folder, env=environment(), text=True, **pipes, **options)  # type: ignore[call-overload,no-any-return]

    def files(self, folder: Path) -> dict[Path, bytes]:
        """What is there now."""
        out = folder / self.out
        found = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
        return {path: path.read_bytes() for path in found if path.exists()}

    def broken(self, folder: Path, *whole: dict[Path, bytes]) -> list[str]:
        """Files that are not whole. Where every run gives the same bytes, they must be those of a ``whole`` file.

        The log of trials may end in a part of a line: that trial is run again.
        """
        found = []
        for path, content in self.files(folder).items():
            if path.name.startswith(".pacshift-") or path.name == "trials.jsonl":
                continue
            if whole and path.suffix in SAME_BYTES and content not in [files.get(path) for files in whole]:
                found.append(f"{path.name}: neither the old file nor the new one")
            try:
                require_whole(path)
            except Exception as error:  # whatever a reader says about a broken file
                found.append(f"{path.name}: {error}")
        return found


WRITINGS = (
    Writing("calibrate", ("calibrate", "source.parquet", "-m", "PS", "-o", "out.json", "--force"), "out.json"),
    Writing("tally", ("tally", "source.parquet", "-l", "label", "-o", "out.tally", "--force"), "out.tally"),
    Writing("predict to Parquet", ("predict", "c.json", "big.parquet", "-o", "s.parquet", "--force"), "s.parquet"),
    Writing("predict to Feather", ("predict", "c.json", "big.parquet", "-o", "s.feather", "--force"), "s.feather"),
    Writing("predict to CSV", ("predict", "c.json", "big.parquet", "-o", "s.csv", "--force"), "s.csv"),
    Writing("label", ("label", "big.parquet", "-b", "400", "--seed", "1", "-o", "l.csv", "--force"), "l.csv"),
    Writing("predict to JSON Lines", ("predict", "c.json", "big.parquet", "-o", "s.jsonl", "--force"), "s.jsonl"),
    Writing("report", ("report", "c.json", "-o", "out.html", "--force"), "out.html"),
    Writing("monitor", ("monitor", "source.parquet", "big.parquet", "-o", "m.html", "--force"), "m.html"),
    Writing("plan", ("plan", "source.parquet", *PLANNED, "-o", "plan.png", "--force"), "plan.png"),
    Writing("demo", ("demo", "--draws", "1", "-o", "demo"), "demo"),
    Writing(
        "reproduce",
        ("reproduce", "agnews-0.05", "--trials", "2", "--methods", "PS", "--workers", "1", "-o", "panels"),
        "panels",
        PAPER,
    ),
)
"""A test compares this list with the commands that there are, and ``python -m paper reproduce``."""


def put_old_file(folder: Path, out: Path) -> None:
    """A small whole file where the command will write, to be kept or replaced; a folder is left as it is."""
    samples = {".json": "json/PS", ".tally": "tally/grid", ".parquet": "parquet/snappy", ".feather": "feather/lz4"}
    texts = {".csv": "a,b\n1,2\n", ".html": "<html></html>\n"}
    if out.suffix in samples:
        shutil.copy(folder / "samples" / samples[out.suffix], out)
    elif out.suffix in texts:
        out.write_text(texts[out.suffix])


def prepare(folder: Path) -> None:
    """The inputs of all commands."""
    write_samples(folder)
    (folder / "c.json").write_bytes((folder / "samples" / "json" / "PS-W").read_bytes())
    pq.write_table(make_table(3, 20_000), folder / "source.parquet")
    pq.write_table(make_table(4, ROWS), folder / "big.parquet")
