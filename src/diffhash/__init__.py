"""Cross-modal hashing: search one kind of data with another through codes of a few bytes.

Public names are imported when they are first used, so ``import diffhash`` is fast and a program
that only searches does not import scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from . import cluster, codes, datasets, errors, evaluation, featurizers, native, stores, workflows
    from .comparison import compare
    from .evaluation import evaluate
    from .hashers import BoostedHash, DiffHash, KernelDiffHash, RefinedHash, cross_validate, load
    from .model import HashModel
    from .pairs import Pairs
    from .search import HammingIndex, asymmetric_search, duplicates
    from .search.sequential import SequentialTest
    from .stores import Collection, create
    from .stores import open as open  # noqa: A004 - diffhash.open is its name

#: The module that owns each public name; other names are modules themselves.
_OWNERS = {
    "BoostedHash": "hashers",
    "Collection": "stores",
    "DiffHash": "hashers",
    "HammingIndex": "search",
    "HashModel": "model",
    "KernelDiffHash": "hashers",
    "Pairs": "pairs",
    "RefinedHash": "hashers",
    "SequentialTest": "search.sequential",
    "asymmetric_search": "search",
    "compare": "comparison",
    "create": "stores",
    "cross_validate": "hashers",
    "duplicates": "search",
    "evaluate": "evaluation",
    "load": "hashers",
    "open": "stores",
}

__all__ = [
    "BoostedHash",
    "Collection",
    "DiffHash",
    "HammingIndex",
    "HashModel",
    "KernelDiffHash",
    "Pairs",
    "RefinedHash",
    "SequentialTest",
    "asymmetric_search",
    "cluster",
    "codes",
    "compare",
    "create",
    "cross_validate",
    "datasets",
    "duplicates",
    "errors",
    "evaluate",
    "evaluation",
    "featurizers",
    "load",
    "native",
    "open",
    "stores",
    "workflows",
]


_lazy_getattr = lazy_getattr(__name__, _OWNERS)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("diffhash")
    return _lazy_getattr(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
