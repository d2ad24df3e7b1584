"""Prediction sets you can still trust after the label mix has changed."""

import importlib
import logging

__version__ = "0.3.0.dev0"

with open(__file__.removesuffix("c") + "i", encoding="utf-8") as _stub:  # the one list of public names
    _HOMES = {name: home for _, home, *_, name in (line.split() for line in _stub if line.startswith("from "))}

_MODULES = ("blocks", "onnx", "plots", "report")  # all but the first need an extra

__all__ = sorted(_HOMES)

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent, unless the user configures logging


def __getattr__(name: str) -> object:
    """Import a public name, or a module that holds some, when it is first used.

    So ``import pacshift`` loads no NumPy, ``pacshift --help`` neither, and the core needs no scikit-learn.
    """
    if name in _HOMES:
        globals()[name] = public = getattr(importlib.import_module(_HOMES[name]), name)
        importlib.import_module("pacshift.errors").show_as_written(public)
        return public
    if name in _MODULES or any(home.split(".")[1] == name for home in _HOMES.values()):
        return importlib.import_module(f"pacshift.{name}")
    raise AttributeError(f"module 'pacshift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]
