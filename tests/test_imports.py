"""Packages and the work done with them do not import libraries that they do not need."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {"sklearn", "scipy.stats", "matplotlib", "pandas", "typer", "rich"}
TEXT = """
from diffhash.featurizers import TfidfFeatures
features = TfidfFeatures(char_ngrams=(2, 3)).fit(["white star", "black star"])
assert features.transform(["a star"]).nnz
from diffhash.featurizers.registry import featurizer_from_state
again = featurizer_from_state("tfidf", *features.state())
assert repr(again.set_params(min_count=2)) == "TfidfFeatures(char_ngrams=(2, 3), min_count=2)"
"""
PICTURES = """
import numpy as np
from diffhash.featurizers import HogFeatures, PictureFeatures
HogFeatures().fit_transform(np.ones((2, 32, 32)))
PictureFeatures().fit_transform([np.ones((8, 8, 3), dtype=np.uint8)])
"""
EVALUATION = """
import numpy as np
from diffhash.evaluation import evaluate
codes = np.arange(4, dtype=np.uint8)[:, None]
evaluate(codes, codes, [0, 0, 1, 1], [0, 0, 1, 1]).confidence_interval()
"""
DATASETS = """
from diffhash.datasets import files, make_paper_data
make_paper_data(n_classes=2, n_train=4, n_test=4)
"""


@pytest.mark.parametrize(
    ("work", "unwanted"),
    [
        ("import diffhash", {"numpy", "scipy"}),
        ("import diffhash; diffhash.HashModel", {"PIL"}),
        ("import diffhash; diffhash.HammingIndex", {"PIL"}),
        ("import diffhash.featurizers", {"PIL"}),
        (TEXT, {"PIL"}),
        (PICTURES, set()),
        (EVALUATION, {"PIL"}),
        (DATASETS, {"PIL", "scipy.io", "h5py"}),
        ("import diffhash.report.html, diffhash.report.style", {"PIL"}),
    ],
    ids=["diffhash", "model", "index", "featurizers", "text", "pictures", "evaluation", "datasets", "report"],
)
def test_heavy_libraries_are_not_imported(work, unwanted):
    script = f"{work}\nimport sys\nprint(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60, env=os.environ
    )

    assert not (HEAVY | unwanted) & set(done.stdout.split())


THREADS = """
import threading
import diffhash
errors, barrier = [], threading.Barrier(6)

def use(name):
    barrier.wait()
    try:
        getattr(diffhash, name)
    except BaseException as error:
        errors.append((name, repr(error)))

names = ("Collection", "native", "HammingIndex", "evaluate", "workflows", "DiffHash")
threads = [threading.Thread(target=use, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
"""


def test_threads_can_use_the_package_for_the_first_time_at_once():
    for _ in range(3):
        subprocess.run([sys.executable, "-c", THREADS], check=True, timeout=60)


def test_packages_are_attributes_after_importing_diffhash():
    """Names in the documentation such as ``diffhash.search.RankedResult`` need no further import."""
    script = (
        "import diffhash; diffhash.search.RankedResult; diffhash.hashers.BaseHasher; diffhash.model.HashModel"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
