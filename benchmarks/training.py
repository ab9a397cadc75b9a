"""Training time and memory of the paper's three methods, beside their floor and their peers.

The job is the paper's: K = 50, m = 50, 10^4 positive and 10^5 negative pairs, features 128 and 64.
Peers learn from the same positives. Floors are the same matrix products and decompositions alone.
Then the growth with the number of aligned rows. Run ``python -m benchmarks.training``.
"""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.cross_decomposition import CCA, PLSSVD

import diffhash as dh

from .figures import paper_job

PAPER_SECONDS = {"DiffHash": 0.62, "KernelDiffHash": 28.0, "BoostedHash": 162.0}
N_BITS = 50


def hashers():
    return {
        "DiffHash": dh.DiffHash(N_BITS),
        "KernelDiffHash": dh.KernelDiffHash(N_BITS),
        "BoostedHash": dh.BoostedHash(N_BITS),
    }


def growing():
    """What growth is measured of: the paper's methods, and ours at 64 bits with its search for settings."""
    return hashers() | {"RefinedHash": dh.RefinedHash(64), "RefinedHash, 16 classes": dh.RefinedHash(64)}


def floor_linear(data, pairs):
    """One gathering of partners, one product of features, one decomposition."""
    x, y = data.train.views["x"], data.train.views["y"]
    matrix = _pair_matrix(pairs, len(x), len(y))
    return lambda: scipy.linalg.svd(x.T @ (matrix @ y))


def floor_kernel(data, pairs):
    """Distances to 1,000 landmarks and their exponentials for both views, then the same on these."""
    x, y = data.train.views["x"], data.train.views["y"]
    matrix = _pair_matrix(pairs, len(x), len(y))

    def run():
        kx, ky = (np.exp(v @ v[:1000].T * np.float32(1e-6)) for v in (x, y))
        u, _, vt = scipy.linalg.svd(kx.T @ (matrix @ ky))
        return kx @ u[:, :N_BITS], ky @ vt[:N_BITS].T

    return run


def floor_boosted(data, pairs):
    """One gathering, one product and one decomposition for every bit."""
    x, y = data.train.views["x"], data.train.views["y"]
    matrix = _pair_matrix(pairs, len(x), len(y))
    return lambda: [scipy.linalg.svd(x.T @ (matrix @ y), full_matrices=False) for _ in range(N_BITS)]


def _pair_matrix(pairs, n_x, n_y):
    index = tuple(np.concatenate(sides) for sides in zip(pairs.positive, pairs.negative, strict=True))
    return scipy.sparse.csr_array((np.ones(len(index[0]), dtype=np.float32), index), shape=(n_x, n_y))


def peer(model, data, pairs):
    i, j = pairs.positive
    x, y = data.train.views["x"][i], data.train.views["y"][j]
    return lambda: model.fit(x, y)


def best_time(run, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_method(name):
    """In a process of its own, so that the peak of memory is this method's."""
    warnings.simplefilter("ignore")
    data, pairs = paper_job(N_BITS, 0)
    jobs = {n: (lambda h=h: h.fit(data.train.views, pairs)) for n, h in hashers().items()}
    jobs |= {
        "floor of DiffHash": floor_linear(data, pairs),
        "floor of KernelDiffHash": floor_kernel(data, pairs),
        "floor of BoostedHash": floor_boosted(data, pairs),
        "scikit-learn PLSSVD": peer(PLSSVD(N_BITS), data, pairs),
        "scikit-learn CCA": peer(CCA(N_BITS, max_iter=500), data, pairs),
    }
    before = peak_memory()
    repeats = 1 if name == "scikit-learn CCA" else 5
    return {"seconds": best_time(jobs[name], repeats), "megabytes": peak_memory() - before}


def measure_growth(name, n):
    """Aligned rows, or classes: all other pairs are negatives and never enumerated."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 128), dtype=np.float32)
    y = x[:, :64] + rng.standard_normal((n, 64), dtype=np.float32)
    hasher = growing()[name]
    pairs = dh.Pairs.aligned(n)
    if name.endswith("classes"):
        labels = (x[:, :4] > 0) @ np.array([1, 2, 4, 8])
        pairs = dh.Pairs.from_labels(labels, labels)
    before = peak_memory()
    seconds = best_time(
        lambda: hasher.fit({"x": x, "y": y}, pairs),
        1 if n > 10**5 or name.startswith("RefinedHash") else 3,
    )
    return {"seconds": seconds, "megabytes": peak_memory() - before, "data": (x.nbytes + y.nbytes) / 2**20}


def in_process(*arguments):
    command = [sys.executable, "-m", "benchmarks.training", *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    names = [*hashers(), *(f"floor of {n}" for n in hashers()), "scikit-learn PLSSVD", "scikit-learn CCA"]
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, best of five\n")
    results = {name: in_process("method", name) for name in names}
    print(
        "| | seconds | peak memory beyond the data, MB | paper's seconds | faster than the paper | times its floor |"
    )
    print("|---|---|---|---|---|---|")
    for name in names:
        seconds, megabytes = results[name]["seconds"], results[name]["megabytes"]
        row = [name, f"{seconds:.3f}", f"{megabytes:.0f}", "", "", ""]
        if name in PAPER_SECONDS:
            floor = results[f"floor of {name}"]["seconds"]
            row[3:] = [
                f"{PAPER_SECONDS[name]}",
                f"{PAPER_SECONDS[name] / seconds:.0f}x",
                f"{seconds / floor:.1f}",
            ]
        print("| " + " | ".join(row) + " |")
    print("\nGrowth with aligned rows, 128 and 64 features, all other pairs as negatives:\n")
    print("| method | rows | seconds | microseconds a row | peak memory beyond the data, MB | data, MB |")
    print("|---|---|---|---|---|---|")
    for name in growing():
        for n in (10**4, 10**5, 10**6):
            r = in_process("growth", name, n)
            per_row = r["seconds"] / n * 1e6
            print(
                f"| {name} | {n:,} | {r['seconds']:.2f} | {per_row:.1f} | {r['megabytes']:.0f} | {r['data']:.0f} |"
            )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        call = measure_method if sys.argv[1] == "method" else measure_growth
        print(json.dumps(call(sys.argv[2], *map(int, sys.argv[3:]))))
    else:
        main()
