"""RefinedHash: the estimator, its settings, the search for settings, and the fit."""

from .estimator import RefinedHash

__all__ = ["RefinedHash"]
