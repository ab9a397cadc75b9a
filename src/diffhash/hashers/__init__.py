"""Hashers: one estimator per file, over one shared base."""

from .base import BaseHasher
from .boosted import BoostedHash
from .diff import DiffHash
from .kernel_diff import KernelDiffHash
from .model_io import load
from .refined import RefinedHash

__all__ = ["BaseHasher", "BoostedHash", "DiffHash", "KernelDiffHash", "RefinedHash", "load"]
