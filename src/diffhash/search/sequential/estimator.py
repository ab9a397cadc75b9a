"""SequentialTest: decides from as few bits as possible whether two codes are similar."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from ...codes import check_codes, pack, unpack
from ...errors import DiffhashWarning, InputError, NotFittedError, PairsError, ParameterError
from ...evaluation import bit_agreement
from ...pairs import Pairs
from ...parameters import ParametersMixin
from ...types import BoolArray, CodeArray, FloatArray, PairIndex
from ...validation import check_count, check_flag, check_number
from .decision_rule import (
    Bounds,
    Decisions,
    SequentialReport,
    calibrated_bounds,
    information_order,
    likelihood_ratios,
    stopping,
    summarise,
    wald_bounds,
)

__all__ = ["Decisions", "SequentialReport", "SequentialTest"]

_BLOCK_CELLS = 1 << 20


class SequentialTest(ParametersMixin):
    r"""Wald's sequential probability ratio test on the bits of two codes.

    Bits are compared one after another. Each bit adds its log-likelihood ratio to a sum:
    :math:`\log (p_b / q_b)` if the two codes agree in it, :math:`\log ((1 - p_b) / (1 - q_b))` if they
    differ, where :math:`p_b` and :math:`q_b` are the shares of similar and of dissimilar pairs that
    agree. When the sum reaches one of two boundaries, the pair is called similar or dissimilar, and
    the remaining bits are not needed.

    Parameters
    ----------
    alpha : float
        Share of dissimilar pairs that may be called similar.
    beta : float
        Share of similar pairs that may be called dissimilar.
    calibrate : bool
        Choose the boundaries on the pairs of ``fit``. With False, Wald's boundaries
        :math:`\log ((1 - \beta) / \alpha)` and :math:`\log (\beta / (1 - \alpha))` are used. They are
        valid for independent bits. The bits of a code are not independent, so the error rates may
        then be higher than alpha and beta.
    sample_size : (int, int)
        Largest numbers of positive and negative pairs that are drawn to order the bits and to
        calibrate. Ratios are computed from all pairs.
    random_state : int or None
        Seed for drawing these pairs.

    Attributes
    ----------
    n_bits_ : int
    agreement_ : array of shape (2, n_bits)
        Probability that each bit agrees on positives and on negatives. One is added to the counts
        of agreeing and of differing pairs, so that no ratio is infinite.
    ratios_ : array of shape (2, n_bits)
        Log-likelihood ratio of each bit if it differs, and if it agrees.
    order_ : int array of shape (n_bits,)
        Bits in the order in which they are compared,
        see :func:`~diffhash.search.sequential.information_order`.
    lower_, upper_, cut_ : float
        Boundaries, and the value with which the sum is compared if it reached neither. ``cut_`` is 0
        unless another value is better on the pairs, see
        :func:`~diffhash.search.sequential.calibrated_bounds`.
    calibration_ : SequentialReport
        Result on the drawn pairs.
    reached_ : bool
        Whether the error rates on the drawn pairs are at most alpha and beta. ``fit`` warns if
        calibration could not reach them.

    Notes
    -----
    Codes of the hasher's own training pairs agree more often than those of new pairs. If possible,
    fit the test on pairs that the hasher has not seen.

    References
    ----------
    A. Wald, "Sequential tests of statistical hypotheses", 1945. The diff-hash paper suggests its use
    for hashing ("WaldHash") to shorten the long codes of CM-SSH.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=600, n_test=200, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.BoostedHash(n_bits=32, sample_size=(1000, 4000)).fit(data.train.views, pairs)
    >>> x, y = (hasher.encode(data.train.views[m], modality=m) for m in ("x", "y"))
    >>> test = dh.SequentialTest(alpha=0.05, beta=0.05).fit(x, y, pairs, n_bits=32)
    >>> similar, n_bits_used, decided = test.decide(x[:100], y[:100])
    >>> bool(n_bits_used.mean() < 10)
    True
    """

    def __init__(
        self,
        alpha: float = 0.01,
        beta: float = 0.01,
        *,
        calibrate: bool = True,
        sample_size: tuple[int, int] = (10_000, 10_000),
        random_state: int | None = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.calibrate = calibrate
        self.sample_size = sample_size
        self.random_state = random_state

    def fit(self, codes_x: CodeArray, codes_y: CodeArray | None, pairs: Pairs, n_bits: int) -> Self:
        """Learn ratios, order and boundaries from codes and pairs.

        Parameters
        ----------
        codes_x, codes_y : uint8 arrays of shape (n, n_bytes), (n', n_bytes)
            ``codes_y`` None for pairs within one view.
        pairs : Pairs
            Implied pairs are counted without listing them.
        n_bits : int

        Returns
        -------
        self
        """
        caller = "SequentialTest.fit"
        self._check_parameters(caller)
        n_bits = check_count(n_bits, "n_bits", caller=caller)
        x, y = _two_sides(codes_x, codes_y, n_bits, caller)
        if not isinstance(pairs, Pairs):
            raise PairsError(f"{caller}: pairs must be a Pairs, got {type(pairs).__name__}.")
        resolved = pairs.resolve(len(x), None if y is None else len(y), caller=caller)
        counts = np.array([resolved.n_positive, resolved.n_negative])
        if not counts.all():
            which = "positive" if counts[0] == 0 else "negative"
            raise PairsError(f"{caller}: there is no {which} pair. Positive and negative pairs are needed.")

        shares = np.stack(bit_agreement(x, y, pairs, n_bits))
        agreement = (shares * counts[:, None] + 1) / (counts[:, None] + 2)
        ratios = likelihood_ratios(*agreement)
        rng = np.random.default_rng(self.random_state)
        listed = resolved.listed(*self.sample_size, rng, caller=caller)
        assert listed.positive is not None
        assert listed.negative is not None
        second = x if y is None else y
        agree = [
            ~unpack(x[i] ^ second[j], n_bits)
            for i, j in (
                _drawn(index, n, rng)
                for index, n in zip((listed.positive, listed.negative), self.sample_size, strict=True)
            )
        ]
        order = information_order(agree[0], agree[1], ratios)
        sums = [_running_sums(bits, ratios, order) for bits in agree]
        bounds = wald_bounds(self.alpha, self.beta)
        if self.calibrate:
            bounds, accepts, rejects = calibrated_bounds(sums[0], sums[1], self.alpha, self.beta)
            if accepts > self.alpha or rejects > self.beta:
                warnings.warn(
                    f"{caller}: alpha={self.alpha} and beta={self.beta} cannot be reached: with all {n_bits} bits "
                    f"the rates are about {accepts:.2g} and {rejects:.2g} on {len(sums[1])} negative and "
                    f"{len(sums[0])} positive pairs. The boundaries keep these rates. Allow larger rates, "
                    "use longer or better codes, or pass more pairs.",
                    DiffhashWarning,
                    stacklevel=2,
                )
        report = summarise(stopping(sums[0], bounds), stopping(sums[1], bounds), n_bits)
        self.n_bits_ = n_bits
        self.agreement_, self.ratios_, self.order_ = agreement, ratios, order
        self.lower_, self.upper_, self.cut_ = bounds.lower, bounds.upper, bounds.cut
        self.calibration_ = report
        self.reached_ = report.false_accept_rate <= self.alpha and report.false_reject_rate <= self.beta
        return self

    def decide(self, codes_x: CodeArray, codes_y: CodeArray) -> Decisions:
        """Decide for each row whether the two codes belong to similar objects.

        Parameters
        ----------
        codes_x, codes_y : uint8 arrays of shape (n, n_bytes)
            Row r of both arrays is one pair.

        Returns
        -------
        Decisions
            ``similar``, ``n_bits_used`` and ``decided``, each of shape (n,).
        """
        caller = "SequentialTest.decide"
        self._check_fitted(caller)
        x = check_codes(codes_x, name="codes_x", n_bits=self.n_bits_, caller=caller)
        y = check_codes(codes_y, name="codes_y", n_bits=self.n_bits_, caller=caller)
        if len(x) != len(y):
            raise InputError(
                f"{caller}: row r of both arrays is one pair, got {len(x)} and {len(y)} rows. "
                "Select the rows of the pairs first: decide(codes_x[i], codes_y[j])."
            )
        return self._decide(x, y)

    def _decide(self, x: CodeArray, y: CodeArray) -> Decisions:
        bounds = Bounds(self.lower_, self.upper_, self.cut_)
        result = Decisions(
            np.empty(len(x), dtype=np.bool_),
            np.empty(len(x), dtype=np.int64),
            np.empty(len(x), dtype=np.bool_),
        )
        step = max(1, _BLOCK_CELLS // self.n_bits_)
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            agree = ~unpack(x[rows] ^ y[rows], self.n_bits_)
            found = stopping(_running_sums(agree, self.ratios_, self.order_), bounds)
            for whole, part in zip(result, found, strict=True):
                whole[rows] = part
        return result

    def report(
        self, codes_x: CodeArray, codes_y: CodeArray | None, pairs_positive: Any, pairs_negative: Any
    ) -> SequentialReport:
        """Measure the number of bits and the error rates on known pairs.

        Parameters
        ----------
        codes_x, codes_y : uint8 arrays of shape (n, n_bytes), (n', n_bytes)
            ``codes_y`` None for pairs within one view.
        pairs_positive, pairs_negative : (i, j)
            Row numbers of similar and of dissimilar pairs. Repeated pairs count once.
        """
        caller = "SequentialTest.report"
        self._check_fitted(caller)
        x, y = _two_sides(codes_x, codes_y, self.n_bits_, caller)
        pairs = Pairs(positive=pairs_positive, negative=pairs_negative)
        resolved = pairs.resolve(len(x), None if y is None else len(y), caller=caller)
        decisions = []
        for index, name in ((resolved.positive, "positive"), (resolved.negative, "negative")):
            if index is None or not len(index[0]):
                raise PairsError(
                    f"{caller}: there is no {name} pair. Positive and negative pairs are needed."
                )
            decisions.append(self._decide(x[index[0]], (x if y is None else y)[index[1]]))
        return summarise(decisions[0], decisions[1], self.n_bits_)

    def reorder(self, codes: CodeArray) -> CodeArray:
        """Reorder the bits of codes into the order of the test: the most informative bit is first.

        For codes in this order, the first bytes are mostly enough to decide.
        """
        caller = "SequentialTest.reorder"
        self._check_fitted(caller)
        bits = unpack(check_codes(codes, n_bits=self.n_bits_, caller=caller), self.n_bits_)
        return pack(bits[:, self.order_])

    def _check_parameters(self, caller: str) -> None:
        for name in ("alpha", "beta"):
            check_number(getattr(self, name), name, caller=caller, high=0.5, open_low=True)
        if self.alpha + self.beta >= 1:
            raise ParameterError(f"{caller}: alpha + beta must be below 1, got {self.alpha} + {self.beta}.")
        check_flag(self.calibrate, "calibrate", caller=caller)
        if not isinstance(self.sample_size, tuple | list) or len(self.sample_size) != 2:
            raise ParameterError(f"{caller}: sample_size must be two numbers, got {self.sample_size!r}.")
        for n in self.sample_size:
            check_count(n, "sample_size", caller=caller)

    def _check_fitted(self, caller: str) -> None:
        if not hasattr(self, "ratios_"):
            raise NotFittedError(f"{caller}: this SequentialTest is not fitted yet. Call fit first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ratios_")


def _two_sides(codes_x: Any, codes_y: Any, n_bits: int, caller: str) -> tuple[CodeArray, CodeArray | None]:
    x = check_codes(codes_x, name="codes_x", n_bits=n_bits, caller=caller)
    if codes_y is None:
        return x, None
    return x, check_codes(codes_y, name="codes_y", n_bits=n_bits, caller=caller)


def _drawn(index: PairIndex, n: int, rng: np.random.Generator) -> PairIndex:
    if len(index[0]) <= n:
        return index
    chosen = np.sort(rng.choice(len(index[0]), size=n, replace=False))
    return index[0][chosen], index[1][chosen]


def _running_sums(agree: BoolArray, ratios: FloatArray, order: Any) -> FloatArray:
    return np.cumsum(np.where(agree[:, order], ratios[1, order], ratios[0, order]), axis=1)
