"""Cross-modal hashing: search one kind of data with another through codes of a few bytes."""

from importlib.metadata import version as _version

from . import codes, datasets, errors, evaluation
from .evaluation import evaluate
from .hashers import BoostedHash, DiffHash, KernelDiffHash, load
from .pairs import Pairs

__all__ = [
    "BoostedHash",
    "DiffHash",
    "KernelDiffHash",
    "Pairs",
    "codes",
    "datasets",
    "errors",
    "evaluate",
    "evaluation",
    "load",
]
__version__ = _version("diffhash")
