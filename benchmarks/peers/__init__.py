"""Shallow cross-modal hashing methods of the field, written from their papers' formulas.

They are the baselines of ``benchmarks``: small, exact, and not part of the package. All have one
interface (:class:`Peer`), use only what they are given (aligned rows, labels or none), and raise
``TooManyBitsError`` where a method cannot give the bits asked for.
"""

from .base import LinearPeer, Peer
from .cca import CCAITQ, CCASigns, RealCCA
from .cmfh import CMFH
from .cvh import CVH
from .imh import IMH
from .kernel import KernelFeatures, KernelPeer, OnKernelFeatures
from .raw import RawFloats, RawSigns, RotatedSigns
from .ridge import KernelRidgeCodes
from .scm import SCMOrth, SCMSeq
from .tune import Tuned, best_setting, try_settings, tune

#: Every peer for two views of any kind.
PEERS = (CCASigns, CCAITQ, CVH, SCMOrth, SCMSeq, IMH, CMFH, KernelRidgeCodes, RealCCA)
#: Those for views of one embedding space.
ALIGNED_PEERS = (RawSigns, RotatedSigns, RawFloats)

__all__ = [
    "ALIGNED_PEERS",
    "CCAITQ",
    "CMFH",
    "CVH",
    "IMH",
    "PEERS",
    "CCASigns",
    "KernelFeatures",
    "KernelPeer",
    "KernelRidgeCodes",
    "LinearPeer",
    "OnKernelFeatures",
    "Peer",
    "RawFloats",
    "RawSigns",
    "RealCCA",
    "RotatedSigns",
    "SCMOrth",
    "SCMSeq",
    "Tuned",
    "best_setting",
    "try_settings",
    "tune",
]
