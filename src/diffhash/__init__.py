"""Cross-modal hashing: search one kind of data with another through codes of a few bytes."""

from importlib.metadata import version as _version

from . import codes, datasets, errors, evaluation, native
from .evaluation import evaluate
from .hashers import BoostedHash, DiffHash, KernelDiffHash, RefinedHash, load
from .index import HammingIndex
from .pairs import Pairs

__all__ = [
    "BoostedHash",
    "DiffHash",
    "HammingIndex",
    "KernelDiffHash",
    "Pairs",
    "RefinedHash",
    "codes",
    "datasets",
    "errors",
    "evaluate",
    "evaluation",
    "load",
    "native",
]
__version__ = _version("diffhash")
