"""Hashers: scikit-learn estimators that learn a :class:`~diffhash.model.HashModel`, one method per module."""

from .base import BaseHasher
from .boosted import BoostedHash
from .cross_validation import cross_validate
from .diff import DiffHash
from .kernel_diff import KernelDiffHash
from .loading import hasher_from_model, load
from .refined import RefinedHash

__all__ = [
    "BaseHasher",
    "BoostedHash",
    "DiffHash",
    "KernelDiffHash",
    "RefinedHash",
    "cross_validate",
    "hasher_from_model",
    "load",
]
