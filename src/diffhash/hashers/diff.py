"""CM-DIF: cross-modality diff-hash."""

from __future__ import annotations

from collections.abc import Mapping

from ..learning.batches import SourceForm
from .map_parameters import LinearSettings, linear_settings
from .spectral import SpectralHasher

__all__ = ["DiffHash"]


class DiffHash(SpectralHasher):
    r"""Cross-modality diff-hash (CM-DIF): linear hash functions from one singular value decomposition.

    Learns :math:`\xi(x) = \mathrm{sign}(P x + a)` and :math:`\eta(y) = \mathrm{sign}(Q y + b)` such that
    similar objects get similar codes. P and Q are the leading singular vectors of the covariance
    difference :math:`\Sigma^N - \gamma \Sigma^P`, with the sign of one side changed. The thresholds a
    and b minimise the error rates of each bit on the pairs.

    Parameters
    ----------
    n_bits : int
        Length of the codes; at most the number of features of the smaller view. With many modalities, at most
        that of all together without the widest, if all have couples with all.
    gamma : float
        Weight of the positives in the projections; the negatives have weight 1. ``inf`` uses only
        positives. If features are centred and the negatives are all other pairs, gamma has no effect:
        the singular vectors are the same for every gamma.
    thresholds : {"joint", "zero", "median"}
        "joint": minimise the errors of each bit, counted on the pairs. "zero": all thresholds are 0.
        "median": half of the objects of each view are on either side.
    miss_weight : float
        Weight of the missed positives in "joint" thresholds; the accepted negatives have weight 1. The
        paper uses gamma here. Values above 1 favour constant bits.
    min_share : float
        With "joint" thresholds, at least this share of the objects of each view is on either side.
    n_bins : int
        Number of intervals of the threshold grid, 4 to 256.
    center : bool, or dict by modality
        Subtract the mean of each feature.
    standardize : bool or "auto", or dict by modality
        Divide each feature by its standard deviation, so that units do not matter. "auto" does this for
        dense views and for views that are whitened: in other sparse views rare words would get too much
        weight. The paper uses False.
    whiten : bool, or dict by modality
        Decorrelate the features by the inverse root of their covariance, after ``standardize``. The model
        has no whitening matrix: it is part of the projections.
    shrinkage : float in [0, 1] or "auto", or dict by modality
        Share of a multiple of the identity in the covariance that ``whiten`` inverts. "auto": a multiple
        of the share of Ledoit and Wolf, chosen on held-out pairs; see
        :data:`~diffhash.learning.whitened_spaces.SHRINKAGE_FACTORS`.
    rotate : bool
        Use only the useful subspace: directions that are stronger than by chance on pairs that they were
        not learned from. They are weighted by this strength and rotated so that signs lose as little as
        possible. With fewer bits than directions the strongest are used. With more bits several rotations
        are used, so ``n_bits`` may be larger than the number of features. Codes are then not nested. Works
        best with ``whiten=True``. The paper uses False.
    statistic : {"product", "difference"}
        One view only: "difference" uses covariances of :math:`x - x'`, like LDAHash's diff-hash.
    couple_weights : dict of float by (modality, modality), or None
        How much each couple of modalities counts; couples that are not named count 1. With one couple it
        has no effect.
    random_state : int or None
        Seed for ``rotate`` and ``shrinkage="auto"``: for the folds of held-out objects, the shuffled pairs
        and the starts of the rotations.

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.BaseHasher`. With one couple the rows of a projection are orthonormal,
        except with ``rotate``.
    singular_values_ : array
        Singular values of the covariance difference, the largest first; with ``rotate`` only those of
        the useful subspace. With one view, or with several couples: magnitudes of the negative eigenvalues.
        Values of large matrices are exact to 1e-7 of the largest one.

    Notes
    -----
    Codes are nested: the first 32 bits of a 64-bit model are the 32-bit model. With one view this is
    the unimodal diff-hash: P = Q, from the most negative eigenvalues, and one threshold per bit.

    With several couples of modalities, the projections are the eigenvectors of the most negative eigenvalues
    of the symmetric matrix of all covariance differences, split by modality, each part of unit length; see
    :mod:`diffhash.learning.block_difference`.

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

    _more_bits_hint = (
        "set rotate=True (no limit), or use KernelDiffHash (at most n_landmarks bits) "
        "or BoostedHash (no limit)."
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
        shrinkage: float | str | Mapping[str, float | str] = "auto",
        rotate: bool = False,
        statistic: str = "product",
        couple_weights: Mapping[tuple[str, str], float] | None = None,
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
        self.couple_weights = couple_weights
        self.random_state = random_state

    def _map_settings(self, form: SourceForm) -> dict[str, LinearSettings]:
        return linear_settings(
            dict(zip(form.modalities, form.sparse, strict=True)),
            center=self.center,
            standardize=self.standardize,
            whiten=self.whiten,
            shrinkage=self.shrinkage,
            caller=self._caller,
        )
