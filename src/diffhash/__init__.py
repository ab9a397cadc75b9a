"""Cross-modal hashing: search one kind of data with another through codes of a few bytes."""

from importlib.metadata import version as _version

from . import codes, datasets, errors, evaluation, featurizers, native
from .evaluation import evaluate
from .hashers import BoostedHash, DiffHash, KernelDiffHash, RefinedHash, load
from .pairs import Pairs
from .search import HammingIndex, asymmetric_search
from .search.sequential import SequentialTest
from .stores import Collection

__all__ = [
    "BoostedHash",
    "Collection",
    "DiffHash",
    "HammingIndex",
    "KernelDiffHash",
    "Pairs",
    "RefinedHash",
    "SequentialTest",
    "asymmetric_search",
    "codes",
    "datasets",
    "errors",
    "evaluate",
    "evaluation",
    "featurizers",
    "load",
    "native",
]
__version__ = _version("diffhash")
