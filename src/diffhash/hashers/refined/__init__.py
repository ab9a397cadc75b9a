"""RefinedHash: its settings, the search for them, and the fit."""

from .estimator import RefinedHash

__all__ = ["RefinedHash"]
