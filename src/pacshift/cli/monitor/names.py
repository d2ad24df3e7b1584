"""What a period is called that is a file: by its name, or by the folders that tell it from others of this name."""

from collections.abc import Collection, Iterable
from pathlib import Path

from pacshift.errors import InputError


def period_name(file: Path, others: Iterable[Path], taken: Collection[str]) -> str:
    """The name of the period of a file, all paths resolved; ``taken`` are names of periods from elsewhere.

    >>> folders = [Path("/visits", month, "data.parquet") for month in ("month=2026-01", "month=2026-02")]
    >>> period_name(folders[0], folders, ()), period_name(Path("/visits/05.parquet"), folders, ())
    ('month=2026-01', '05')
    """
    alike = [other for other in others if other.stem == file.stem and other != file]
    name = _folders(file, alike) if alike else file.stem
    if name in taken:
        raise InputError(
            f"{file}: there is a period {name!r} from another file already, so their rows would be mixed. Rename "
            "the file, or name the time of each row: --timestamp COLUMN."
        )
    return name


def _folders(file: Path, alike: list[Path]) -> str:
    """The last folders that no file of the same name shares."""
    for depth in range(1, len(file.parts) - 1):
        own = file.parts[-1 - depth : -1]
        if all(other.parts[-1 - depth : -1] != own for other in alike):
            return "/".join(own)
    raise InputError(
        f"{file} and {alike[0]} would both be the period {file.stem!r}, so their rows would be mixed. Rename one "
        "of them, or name the time of each row: --timestamp COLUMN."
    )
