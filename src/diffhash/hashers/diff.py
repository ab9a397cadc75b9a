"""CM-DIF: cross-modality diff-hash."""

from __future__ import annotations

from collections.abc import Mapping

from .base import TrainingData
from .map_parameters import LinearSettings, linear_settings
from .spectral import SpectralHasher

__all__ = ["DiffHash"]


class DiffHash(SpectralHasher):
    r"""Cross-modality diff-hash (CM-DIF): linear hash functions from one singular value decomposition.

    Learns :math:`\xi(x) = \mathrm{sign}(P x + a)` and :math:`\eta(y) = \mathrm{sign}(Q y + b)` such that
    similar objects get similar codes. P and Q are the leading singular vectors of the covariance
    difference :math:`\Sigma^N - \gamma \Sigma^P`, one side with its sign turned; a and b minimise
    the error rates of each bit on the pairs.

    Parameters
    ----------
    n_bits : int
        Length of the codes, at most the smaller number of features.
    gamma : float
        Weight of the positives against the negatives in the projections; ``inf`` for positives
        only. It hardly matters: centred, with all other pairs as negatives, the singular vectors
        are the same for every gamma.
    thresholds : {"joint", "zero", "median"}
        "joint": minimise the errors of each bit, counted jointly on the pairs. "zero": none.
        "median": half of each view's objects on either side.
    miss_weight : float
        Weight of the missed positives against the accepted negatives in "joint" thresholds. The
        paper uses gamma for this; above 1 it favours bits that never change.
    min_share : float
        "joint" thresholds leave at least this share of each view's objects on either side.
    n_bins : int
        Intervals of the threshold grid, 4 to 256.
    center : bool, or dict by modality
        Subtract the mean of each feature.
    standardize : bool or "auto", or dict by modality
        Divide each feature by its standard deviation, so that units do not matter. "auto": dense
        views are, sparse ones are not, since rare words would outweigh all others. The paper's plain
        form is False.
    whiten : bool, or dict by modality
        Decorrelate the features by the inverse root of their covariance; standardising adds nothing then.
    shrinkage : float in [0, 1], or dict by modality
        How far that covariance is first drawn towards a multiple of the identity.
    rotate : bool
        Spend the bits inside the useful subspace: directions that are no stronger than those of shuffled
        pairs are dropped, and the rest is rotated so that signs keep as much of it as they can, by
        several rotations if ``n_bits`` is more than their number. Codes are then not nested, and
        ``n_bits`` may be more than there are features. Best with ``whiten=True``. The paper's form is False.
    statistic : {"product", "difference"}
        One view only: "difference" takes covariances of :math:`x - x'` as LDAHash's diff-hash does.
    random_state : int or None
        Seed of ``rotate``: of the shuffled pairs and of the starts of the rotations.

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.BaseHasher`. Rows of a projection are orthonormal.
    singular_values_ : array
        Of the covariance difference, largest first; with ``rotate`` those of the useful subspace.
        One view: magnitudes of the negative eigenvalues.

    Notes
    -----
    The first 32 bits of a 64-bit model are the 32-bit model. With one view in ``fit`` this is the
    unimodal diff-hash: P = Q from the most negative eigenvalues, one threshold per bit.

    References
    ----------
    M. M. Bronstein, "Multimodal diff-hash", 2011, section 4.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=500, n_test=100, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, pairs)
    >>> hasher.encode(data.test.views["y"], modality="y").shape
    (100, 1)
    """

    _ways_out = (
        "or set rotate=True (any number), or use KernelDiffHash (up to n_landmarks) or BoostedHash (any)."
    )

    def __init__(
        self,
        n_bits: int = 64,
        gamma: float = 10.0,
        *,
        thresholds: str = "joint",
        miss_weight: float = 1.0,
        min_share: float = 0.05,
        n_bins: int = 64,
        center: bool | Mapping[str, bool] = True,
        standardize: bool | str | Mapping[str, bool | str] = "auto",
        whiten: bool | Mapping[str, bool] = False,
        shrinkage: float | Mapping[str, float] = 0.01,
        rotate: bool = False,
        statistic: str = "product",
        random_state: int | None = 0,
    ) -> None:
        self.n_bits = n_bits
        self.gamma = gamma
        self.thresholds = thresholds
        self.miss_weight = miss_weight
        self.min_share = min_share
        self.n_bins = n_bins
        self.center = center
        self.standardize = standardize
        self.whiten = whiten
        self.shrinkage = shrinkage
        self.rotate = rotate
        self.statistic = statistic
        self.random_state = random_state

    def _map_settings(self, data: TrainingData) -> dict[str, LinearSettings]:
        return linear_settings(
            data.views,
            center=self.center,
            standardize=self.standardize,
            whiten=self.whiten,
            shrinkage=self.shrinkage,
            caller=self._caller,
        )
