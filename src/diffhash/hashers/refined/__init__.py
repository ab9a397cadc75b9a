"""RefinedHash: the estimator, the fit to labels, and the fit to pairs."""

from .estimator import RefinedHash

__all__ = ["RefinedHash"]
