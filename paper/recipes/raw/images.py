"""Image files: found in a fixed order, decoded one by one; a broken file is noted, never a crash."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = {".jpg", ".jpeg", ".png"}

Pixels = NDArray[np.uint8]


def find_images(folder: Path) -> list[Path]:
    """Every image below ``folder``, sorted by its path."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)


def require_folder(folder: Path, what: str) -> Path:
    """The folder itself, or an error that says what belongs there."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder. It should hold {what}. Check the path.")
    return folder


class ImageReader:
    """Decodes images to one size and remembers the files that could not be read."""

    def __init__(self, size: int, *, shorter_side: int | None = None) -> None:
        self.size = size
        self.shorter_side = shorter_side or size
        self.broken: dict[str, str] = {}
        """Path of each unreadable file and the reason."""

    def read(self, path: Path) -> Pixels | None:
        """Height x width x 3, or None where the file is broken."""
        import PIL.Image

        try:
            with PIL.Image.open(path) as image:
                return np.asarray(self._resize(image.convert("RGB")))
        except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
            self.broken[str(path)] = str(error) or type(error).__name__
            return None

    def _resize(self, image: "Image") -> "Image":
        """Scale the shorter side, then cut out the square in the middle: the usual way for ImageNet networks."""
        from PIL.Image import Resampling

        scale = self.shorter_side / min(image.size)
        width, height = (max(self.size, round(side * scale)) for side in image.size)
        if (width, height) != image.size:
            image = image.resize((width, height), Resampling.BILINEAR)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        return image.crop((left, top, left + self.size, top + self.size))

    def read_all(self, paths: Iterable[Path]) -> tuple[Pixels, NDArray[np.bool_]]:
        """All images that can be read, and for each path whether it could."""
        found = [self.read(path) for path in paths]
        is_good = np.array([image is not None for image in found], bool)
        good = [image for image in found if image is not None]
        if not good:
            raise InputError(f"none of {len(found):,} images could be read. {describe_broken(self.broken)}")
        return np.stack(good), is_good


def describe_broken(broken: Mapping[str, str], most: int = 3) -> str:
    """How many files could not be read, and the names of the first."""
    if not broken:
        return ""
    names = ", ".join(sorted(broken)[:most]) + (", ..." if len(broken) > most else "")
    return f"{len(broken):,} unreadable image{'s' if len(broken) > 1 else ''} left out: {names}"
