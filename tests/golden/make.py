"""Make the golden model files that are missing: ``python -m tests.golden.make``.

Models of one or two modalities have format version 1, models of more have version 2, models with a distance
function of the user have version 3. Existing files are kept
and never made again: every later release must load them and encode the same bits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.featurizers import HogFeatures, TfidfFeatures

FOLDER = Path(__file__).parent


def inputs(name):
    """Whole numbers, so that features are the same on every machine; never negative for "refined"."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, size=60)
    x = (rng.integers(-3, 4, size=(3, 6)) * 2)[labels] + rng.integers(-1, 2, size=(60, 6))
    y = (rng.integers(-3, 4, size=(3, 5)) * 2)[labels] + rng.integers(-1, 2, size=(60, 5))
    views = {"x": x.astype(np.float64), "y": y.astype(np.float64)}
    return ({m: np.abs(X) for m, X in views.items()} if name == "refined" else views), labels


def models():
    return {
        "diff": dh.DiffHash(n_bits=2, gamma=np.inf, standardize={"x": True, "y": False}),
        "kernel": dh.KernelDiffHash(n_bits=2, n_landmarks={"x": 12, "y": 9}, center=True),
        "refined": dh.RefinedHash(
            n_bits=9,
            features="kernel",
            metric="hellinger",
            width=1.5,
            ridge=0.03,
            penalty=0.003,
            n_landmarks=20,
        ),
        "boosted": dh.BoostedHash(n_bits=9, n_directions=2, sample_size=(200, 400)),
    }


def many_inputs():
    """Three views; the second lacks every third object, and the third has some objects twice."""
    views, labels = inputs("")
    ids = np.arange(60)
    kept, twice = ids % 3 > 0, np.repeat(ids, np.where(ids % 4, 1, 2))
    third = np.column_stack([views["x"][:, :2] - views["y"][:, :2], labels])
    views = {"x": views["x"], "y": views["y"][kept], "z": third[twice]}
    return views, dh.Pairs.from_ids({"x": ids, "y": ids[kept], "z": twice})


def many_model():
    """A model of three modalities, with weights of couples."""
    return dh.DiffHash(n_bits=3, couple_weights={("x", "z"): 0.5})


def manhattan(X, landmarks):
    """A distance function, which a file cannot hold."""
    return np.abs(X[:, None] - landmarks).sum(axis=2)


def distance_model():
    """A model with a distance function in one modality."""
    return dh.KernelDiffHash(n_bits=2, n_landmarks=10, metric={"x": manhattan, "y": "euclidean"})


def calibrated_model():
    """A model with distance counts of held-out pairs."""
    return dh.BoostedHash(n_bits=9, n_directions=2, sample_size=(200, 400))


def raw_inputs():
    """Texts and grey pictures; equal rows are pairs. Pixels are whole numbers."""
    rng = np.random.default_rng(11)
    shapes = {
        "bar": (slice(3, 5), slice(None)),
        "pole": (slice(None), slice(3, 5)),
        "box": (slice(2, 6),) * 2,
    }
    words = rng.choice(list(shapes), size=60)
    pictures = rng.integers(0, 40, size=(60, 8, 8))
    for picture, word in zip(pictures, words, strict=True):
        picture[shapes[word]] += 200
    texts = [f"a {rng.choice(['light', 'bright', 'weiß'])} {word}, {n % 4}" for n, word in enumerate(words)]
    return {"image": list(pictures.astype(np.uint8)), "text": texts}


def raw_model():
    """A model with featurizers for pictures and texts."""
    raw = raw_inputs()
    featurizers = {
        "image": HogFeatures(cells=2, thumbnail=2, size=8),
        "text": TfidfFeatures(char_ngrams=(2, 3), char_weight=0.5).fit(raw["text"]),
    }
    views = {m: featurizer.transform(raw[m]) for m, featurizer in featurizers.items()}
    return dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(60)).set_featurizers(featurizers)


def main():
    many_path = FOLDER / "many-v2.dhm"
    if not many_path.exists():
        views, pairs = many_inputs()
        hasher = many_model().fit(views, pairs)
        hasher.save(many_path)
        np.savez(many_path.with_suffix(".npz"), **{m: hasher.encode(X, m) for m, X in views.items()})
    raw_path = FOLDER / "raw-v1.dhm"
    if not raw_path.exists():
        hasher = raw_model()
        hasher.save(raw_path)
        codes = {m: hasher.encode_raw(raw, modality=m) for m, raw in raw_inputs().items()}
        np.savez(raw_path.with_suffix(".npz"), **codes)
    labels = inputs("")[1]
    calibrated_path = FOLDER / "calibrated-v1.dhm"
    if not calibrated_path.exists():
        views = inputs("")[0]
        hasher = calibrated_model().fit(views, dh.Pairs.from_labels(labels, labels), calibrate=True)
        hasher.save(calibrated_path)
        np.savez(
            calibrated_path.with_suffix(".npz"),
            **{m: hasher.encode(X, modality=m) for m, X in views.items()},
        )
    versions = {name: (1, hasher) for name, hasher in models().items()} | {"distance": (3, distance_model())}
    for name, (version, hasher) in versions.items():
        path = FOLDER / f"{name}-v{version}.dhm"
        if path.exists():
            continue
        hasher.fit(views := inputs(name)[0], dh.Pairs.from_labels(labels, labels))
        hasher.save(path)
        np.savez(path.with_suffix(".npz"), **{m: hasher.encode(X, modality=m) for m, X in views.items()})


if __name__ == "__main__":
    main()
