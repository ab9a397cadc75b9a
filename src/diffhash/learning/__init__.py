"""The steps of learning, as pure functions and sums that merge: moments, subspace, thresholds, refinement."""

from .histograms import JointHistogram
from .moments import PairMoments

__all__ = ["JointHistogram", "PairMoments"]
