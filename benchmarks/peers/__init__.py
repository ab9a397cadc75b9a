"""Shallow cross-modal hashing methods of the field, written from their papers' formulas.

They are the baselines of ``benchmarks``: small, exact, and not part of the package. All have one
interface (:class:`Peer`), use only what they are given (aligned rows, labels or none), and raise
``TooManyBitsError`` where a method cannot give the bits asked for. All are linear in their features:
:mod:`.representation` makes the features, and :mod:`.choose` chooses them for all peers alike.
"""

from .base import LinearPeer, Peer
from .batch import BATCH
from .cca import CCAITQ, CCASigns, RealCCA
from .choose import Choice, choose_representations
from .cmfh import CMFH
from .cvh import CVH
from .imh import IMH
from .logistic import LogisticCodes
from .pca_itq import PCAITQ, AlignedITQ
from .raw import RawFloats, RawSigns, RotatedSigns
from .representation import Representation, Setting
from .ridge import Posteriors, RidgeCodes
from .scm import SCMOrth, SCMSeq
from .scratch import SCRATCH
from .srlch import SRLCH
from .tune import Tuned, best_setting, try_settings, tune

#: Every peer for two views of any kind.
PEERS = (
    CCASigns,
    CCAITQ,
    PCAITQ,
    CVH,
    SCMOrth,
    SCMSeq,
    IMH,
    CMFH,
    SCRATCH,
    BATCH,
    SRLCH,
    RidgeCodes,
    LogisticCodes,
    RealCCA,
)
#: Those for views of one embedding space.
ALIGNED_PEERS = (RawSigns, RotatedSigns, AlignedITQ, RawFloats)

__all__ = [
    "ALIGNED_PEERS",
    "BATCH",
    "CCAITQ",
    "CMFH",
    "CVH",
    "IMH",
    "PCAITQ",
    "PEERS",
    "SCRATCH",
    "SRLCH",
    "AlignedITQ",
    "CCASigns",
    "Choice",
    "LinearPeer",
    "LogisticCodes",
    "Peer",
    "Posteriors",
    "RawFloats",
    "RawSigns",
    "RealCCA",
    "Representation",
    "RidgeCodes",
    "RotatedSigns",
    "SCMOrth",
    "SCMSeq",
    "Setting",
    "Tuned",
    "best_setting",
    "choose_representations",
    "try_settings",
    "tune",
]
