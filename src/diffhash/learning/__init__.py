"""The steps of learning: moments, subspace, thresholds, boosting, refinement.

All of them are pure functions, or sums over parts of the data that can be merged.
"""

from .histograms import JointHistogram
from .moments import PairMoments

__all__ = ["JointHistogram", "PairMoments"]
