"""Measure what the paper prints against what it means: ``python -m benchmarks.misprints``.

Each line is one reading of one step, on the paper's synthetic data (25 classes, centres of scale 5,
10,000 positive and 100,000 negative pairs drawn by labels, gamma = 10, 25 bits), all other steps as
in the package. The figure is the tie-aware mean average precision over 5,000 unseen objects,
averaged over both directions and over the seeds. The page docs/measurements/misprints.md shows the tables.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

import diffhash as dh
from tests.reference import literal

N_CLASSES = 25
N_BITS = 25
GAMMA = 10.0
OFFSET = 20.0
N_LANDMARKS = 1000


def plain_diff_hash(**parameters) -> dh.DiffHash:
    """CM-DIF on features as they come, as in the paper; the package standardises them by default."""
    return dh.DiffHash(standardize=False, **parameters)


@dataclass
class Job:
    """The paper's experiment for one seed."""

    data: dh.datasets.MultimodalData
    pairs: dh.Pairs
    seed: int

    @classmethod
    def draw(cls, seed: int) -> Job:
        data = dh.datasets.make_paper_data(n_classes=N_CLASSES, center_scale=5.0, random_state=seed)
        labels = data.train.labels
        pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 10_000, 100_000, random_state=seed)
        return cls(data, pairs, seed)

    @property
    def train(self) -> tuple:
        """Centred training views, float64."""
        return tuple(
            self.data.train.views[m] - self.data.train.views[m].mean(axis=0, dtype=np.float64) for m in "xy"
        )

    @property
    def test(self) -> tuple:
        """Test views about the training means."""
        return tuple(
            self.data.test.views[m] - self.data.train.views[m].mean(axis=0, dtype=np.float64) for m in "xy"
        )

    def fit(self, hasher, *, offset: float = 0.0, pairs: dh.Pairs | None = None):
        views = {m: view + np.float32(offset) for m, view in self.data.train.views.items()}
        with warnings.catch_warnings():
            # Literal readings deserve their warnings; the table tells what comes of them.
            warnings.simplefilter("ignore", dh.errors.RankWarning)
            return hasher.fit(views, self.pairs if pairs is None else pairs)

    def score(self, codes_x, codes_y) -> float:
        labels = self.data.test.labels
        there = dh.evaluate(codes_x, codes_y, labels["x"], labels["y"])
        back = dh.evaluate(codes_y, codes_x, labels["y"], labels["x"])
        return (there.mean_average_precision + back.mean_average_precision) / 2

    def score_hasher(self, hasher, *, offset: float = 0.0, **fit) -> float:
        self.fit(hasher, offset=offset, **fit)
        views = {m: view + np.float32(offset) for m, view in self.data.test.views.items()}
        return self.score(*(hasher.encode(views[m], modality=m) for m in "xy"))

    def score_linear(self, P, Q, a=0.0, b=0.0) -> tuple[float, float]:
        """Score of affine hash functions on centred features, and the share of constant bits."""
        x, y = self.test
        bits = x @ P.T + a >= 0, y @ Q.T + b >= 0
        shares = np.stack([side.mean(axis=0) for side in bits])
        constant = ((shares < 0.005) | (shares > 0.995)).all(axis=0).mean()
        return self.score(*(dh.codes.pack(side) for side in bits)), float(constant)


@dataclass
class Line:
    """One reading: its figures by seed, and a remark made by the last of them."""

    step: str
    reading: str
    ours: bool = False
    figures: list[float] = field(default_factory=list)
    remark: str = ""


Measure = Callable[[Job], float | tuple[float, str]]


def readings() -> Iterator[tuple[str, str, bool, Measure]]:
    """Step, reading, whether it is the package's, and how it is measured."""
    yield from _projections()
    yield from _thresholds()
    yield from _kernels()
    yield from _centring()
    yield from _boosting()
    yield from _consequences()


def _projections() -> Iterator[tuple[str, str, bool, Measure]]:
    step = "projections, zero thresholds"

    def by(choose) -> Measure:
        def measure(job: Job) -> tuple[float, str]:
            difference = literal.covariance_difference(
                *job.train, job.pairs.positive, job.pairs.negative, GAMMA
            )
            P, Q = choose(difference, N_BITS)
            loss = round(literal.trace_loss(P, Q, difference))
            return job.score_linear(P, Q)[0], f"trace loss {loss:,}"

        return measure

    yield step, "smallest, indices as printed", False, by(literal.smallest_singular_vectors)
    yield step, "smallest, matching pairs", False, by(literal.smallest_singular_pairs)
    yield step, "largest, sign not inverted", False, by(literal.largest_singular_vectors)

    def inverted(difference, n_bits):
        P, Q = literal.largest_singular_vectors(difference, n_bits)
        return P, -Q

    yield step, "largest, one sign inverted", True, by(inverted)


def _thresholds() -> Iterator[tuple[str, str, bool, Measure]]:
    step = "thresholds"

    def by(cost) -> Measure:
        def measure(job: Job) -> tuple[float, str]:
            hasher = job.fit(plain_diff_hash(n_bits=N_BITS, gamma=GAMMA, thresholds="zero"))
            P, Q = hasher.projections_["x"], hasher.projections_["y"]
            x, y = job.train
            positive, negative = job.pairs.positive, job.pairs.negative
            a, b, lowest = literal.best_thresholds(
                x @ P.T, y @ Q.T, lambda x, y, u, v: cost(x, y, positive, negative, u, v)
            )
            score, constant = job.score_linear(P, Q, a, b)
            return score, f"{constant:.0%} constant bits, cost {lowest.mean():.2f}"

        return measure

    def product(weight):
        def cost(*arguments):
            missed, accepted = literal.product_rates(*arguments)
            return weight * missed + accepted

        return cost

    def joint(weight):
        def cost(*arguments):
            missed, accepted = literal.joint_rates(*arguments)
            return weight * missed + accepted

        return cost

    def repeated(x, y, positive, negative, u, v):
        missed, _ = literal.product_rates(x, y, positive, negative, u, v)
        return GAMMA * missed + literal.repeated_term_false_positives(x, y, negative, u, v)

    def ours(**parameters) -> Measure:
        return lambda job: job.score_hasher(plain_diff_hash(n_bits=N_BITS, gamma=GAMMA, **parameters))

    yield step, "FP's last line: both below, twice, γ = 10", False, by(repeated)
    yield step, "products of marginals, γ = 10", False, by(product(GAMMA))
    yield step, "products of marginals, equal weights", False, by(product(1.0))
    yield step, "joint counts, γ = 10", False, by(joint(GAMMA))
    yield step, "joint counts, γ = 10, constant bits refused", False, ours(miss_weight=GAMMA)
    yield step, "zero", False, ours(thresholds="zero")
    yield step, "median", False, ours(thresholds="median")
    yield step, "joint counts, equal weights", True, ours()


def _kernels() -> Iterator[tuple[str, str, bool, Measure]]:
    step = f"kernel, {N_LANDMARKS} landmarks"

    def printed(power: float) -> Measure:
        def measure(job: Job) -> tuple[float, str]:
            views = job.data.train.views
            variance = {m: views[m].var(axis=0, dtype=np.float64) for m in "xy"}
            kernels = {
                m: lambda X, L, m=m: literal.gaussian_kernel(X, L, variance[m], power).astype(np.float32)
                for m in "xy"
            }
            hasher = dh.KernelDiffHash(
                n_bits=N_BITS, gamma=GAMMA, n_landmarks=N_LANDMARKS, kernel=kernels, random_state=job.seed
            )
            score = job.score_hasher(hasher)
            squares = [
                literal.squared_distance(views[m][:1000], views[m][1000:2000], variance[m], power)
                for m in "xy"
            ]
            shares = " / ".join(f"{(np.exp(-d2).astype(np.float32) == 0).mean():.1%}" for d2 in squares)
            medians = " / ".join(f"{np.median(d2):.0f}" for d2 in squares)
            return score, f"median d² {medians} (x / y); {shares} of the values are 0 in float32"

        return measure

    def ours(**parameters) -> Measure:
        return lambda job: job.score_hasher(
            dh.KernelDiffHash(
                n_bits=N_BITS, gamma=GAMMA, n_landmarks=N_LANDMARKS, random_state=job.seed, **parameters
            )
        )

    yield step, "no bandwidth, Σ⁻¹ᐟ² as printed", False, printed(-0.5)
    yield step, "no bandwidth, Σ⁻¹", False, printed(-1.0)
    yield step, "median bandwidth, Σ⁻¹, centred", False, ours(bandwidth="median", center=True)
    yield step, "median bandwidth, Σ⁻¹, not centred", False, ours(bandwidth="median")
    yield step, "balanced bandwidth, Σ⁻¹, centred", False, ours(center=True)
    yield step, "balanced bandwidth, Σ⁻¹, not centred", True, ours()


def _centring() -> Iterator[tuple[str, str, bool, Measure]]:
    step = f"data with an offset of {OFFSET:g} in every feature"

    def by(n_bits: int, **parameters) -> Measure:
        def measure(job: Job) -> tuple[float, str]:
            hasher = plain_diff_hash(n_bits=n_bits, gamma=GAMMA, **parameters)
            score = job.score_hasher(hasher, offset=OFFSET)
            shares = [
                dh.codes.unpack(
                    hasher.encode(job.data.test.views[m] + np.float32(OFFSET), modality=m), n_bits
                ).mean(axis=0)[0]
                for m in "xy"
            ]
            return score, f"first bit is 1 for {shares[0]:.0%} of x, {shares[1]:.0%} of y"

        return measure

    for n_bits in (8, N_BITS):
        yield (
            step,
            f"{n_bits} bits, not centred, zero thresholds",
            False,
            by(n_bits, center=False, thresholds="zero"),
        )
        yield step, f"{n_bits} bits, centred, zero thresholds", False, by(n_bits, thresholds="zero")
        yield step, f"{n_bits} bits, not centred, joint thresholds", False, by(n_bits, center=False)
        yield step, f"{n_bits} bits, centred, joint thresholds", True, by(n_bits)


def _boosting() -> Iterator[tuple[str, str, bool, Measure]]:
    step = "CM-SSH"

    def by(**parameters) -> Measure:
        def measure(job: Job) -> float:
            (P, a), (Q, b) = literal.boost(
                *job.train, job.pairs.positive, job.pairs.negative, N_BITS, **parameters
            )
            return job.score_linear(P, Q, a, b)[0]

        return measure

    def ours(n_directions: int, standardize: bool) -> Measure:
        return lambda job: job.score_hasher(
            dh.BoostedHash(n_bits=N_BITS, n_directions=n_directions, standardize=standardize)
        )

    yield step, "minimised as printed", False, by(minimise=True)
    for n, name in ((1, "1 direction"), (5, "5 directions")):
        yield step, f"maximised, uniform start over pairs, {name}", False, by(start="uniform", n_directions=n)
        yield step, f"maximised, half of the mass on each set, {name}", False, ours(n, False)
        yield step, f"the same on standardised features, {name}", True, ours(n, True)


def _consequences() -> Iterator[tuple[str, str, bool, Measure]]:
    def diff(n_bits: int, gamma: float, *, every: bool = False) -> Measure:
        def measure(job: Job) -> float:
            labels = job.data.train.labels
            pairs = dh.Pairs.from_labels(labels["x"], labels["y"]) if every else None
            return job.score_hasher(
                plain_diff_hash(n_bits=n_bits, gamma=gamma, thresholds="zero"), pairs=pairs
            )

        return measure

    for every, step in (
        (False, "γ of the projections, sampled pairs"),
        (True, "γ of the projections, all pairs"),
    ):
        for gamma in (0.0, 1.0, 10.0, 1000.0, np.inf):
            name = "∞ (positives only)" if np.isinf(gamma) else f"{gamma:g}"
            yield f"{step}, zero thresholds", f"γ = {name}", gamma == GAMMA, diff(N_BITS, gamma, every=every)

    def length(n_bits: int) -> Measure:
        return lambda job: job.score_hasher(plain_diff_hash(n_bits=n_bits, gamma=GAMMA))

    for n_bits in (24, 25, 32, 64):
        yield f"number of bits, {N_CLASSES} classes", f"{n_bits} bits", False, length(n_bits)

    def one_view(statistic: str) -> Measure:
        def measure(job: Job) -> tuple[float, str]:
            scores = []
            for m in "xy":
                labels = job.data.train.labels[m]
                pairs = dh.Pairs.from_labels(labels, None, 10_000, 100_000, random_state=job.seed)
                hasher = plain_diff_hash(n_bits=N_BITS, gamma=GAMMA, statistic=statistic)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", dh.errors.RankWarning)
                    hasher.fit({m: job.data.train.views[m]}, pairs)
                codes = hasher.encode(job.data.test.views[m])
                wanted = job.data.test.labels[m]
                # Half of the test objects look for the other half: none of them finds itself.
                half = len(codes) // 2
                result = dh.evaluate(codes[:half], codes[half:], wanted[:half], wanted[half:])
                scores.append(result.mean_average_precision)
            return float(np.mean(scores)), f"x {scores[0]:.3f}, y {scores[1]:.3f}"

        return measure

    step = "one modality, mean of x alone and y alone"
    yield step, "products x x'ᵀ", True, one_view("product")
    yield step, "differences (x − x')(x − x')ᵀ, as LDAHash", False, one_view("difference")


def measure_all(seeds: list[int], only: str = "") -> list[Line]:
    """Figures of every reading whose step contains ``only``, seed by seed."""
    lines: dict[tuple[str, str], Line] = {}
    for seed in seeds:
        job = Job.draw(seed)
        for step, reading, ours, measure in readings():
            if only not in step:
                continue
            line = lines.setdefault((step, reading), Line(step, reading, ours))
            result = measure(job)
            figure, remark = result if isinstance(result, tuple) else (result, "")
            line.figures.append(figure)
            line.remark = line.remark or remark
    return list(lines.values())


def by_step(lines: list[Line]) -> dict[str, list[Line]]:
    """The lines of each step, in order."""
    steps: dict[str, list[Line]] = {}
    for line in lines:
        steps.setdefault(line.step, []).append(line)
    return steps


def print_text(lines: list[Line]) -> None:
    for step, readings in by_step(lines).items():
        print(f"\n{step}")
        for line in readings:
            mark = "*" if line.ours else " "
            span = f"{min(line.figures):.3f} to {max(line.figures):.3f}"
            print(f"  {mark} {line.reading:<54} {np.mean(line.figures):.3f}   {span}   {line.remark}")
    print("\n* what the package does")


def print_markdown(lines: list[Line]) -> None:
    for step, readings in by_step(lines).items():
        remarks = any(line.remark for line in readings)
        print(f"\n| {step} | mAP | least to most |{' remark (first seed) |' if remarks else ''}")
        print(f"|---|---|---|{'---|' if remarks else ''}")
        for line in readings:
            bold = "**" if line.ours else ""
            # No-break spaces keep a range in one piece.
            span = f"{min(line.figures):.3f}\u00a0to\u00a0{max(line.figures):.3f}"
            cells = [f"{bold}{line.reading}{bold}", f"{bold}{np.mean(line.figures):.3f}{bold}", span]
            print(f"| {' | '.join([*cells, line.remark] if remarks else cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="default: 0 1 2 3 4")
    parser.add_argument("--only", default="", help="only steps whose name contains this")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    arguments = parser.parse_args()
    start = time.perf_counter()
    lines = measure_all(arguments.seeds, arguments.only)
    seeds = ", ".join(map(str, arguments.seeds))
    what = (
        f"mAP over both directions, mean of seeds {seeds}; {N_CLASSES} classes, {N_BITS} bits, γ = {GAMMA:g}"
    )
    if arguments.markdown:
        print(f"{what}.")
        print_markdown(lines)
    else:
        print(what)
        print_text(lines)
        print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
