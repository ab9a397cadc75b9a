"""From folders of shards to a search, on a cluster: learn, encode, resume, search.

``python examples/cluster_walkthrough.py`` makes shards of made-up pictures and captions in a temporary folder, and
starts a cluster of two processes on this machine. ``--scheduler tcp://HOST:8786`` uses another one; its workers must
see the folder under the same name.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.workflows import LearningOptions


def make_shards(folder: Path, n_shards: int, n_rows: int) -> None:
    """Objects with 12 hidden numbers, seen in two ways."""
    rng = np.random.default_rng(0)
    ways = {"image": rng.normal(size=(12, 64)), "text": rng.normal(size=(12, 32))}
    for number in range(n_shards):
        hidden = rng.normal(size=(n_rows, 12))
        for name, way in ways.items():
            features = hidden @ way + 0.2 * rng.normal(size=(n_rows, way.shape[1]))
            (folder / name).mkdir(exist_ok=True)
            np.save(folder / name / f"part-{number:03}.npy", features.astype(np.float32))


def walk(folder: Path, address: str) -> None:
    views = {name: folder / name for name in ("image", "text")}

    # 1. Learn. Only sums and a sample of bounded size come to this process.
    options = LearningOptions(method="diff", n_bits=12)
    fitted = dh.cluster.fit_shards(
        views, folder / "model.dhm", scheduler=address, learning=options, tell=print
    )
    print(f"learned from {fitted.learned_from}")

    # 2. Encode: one file of codes for each shard. Run it again, and it does only what is missing.
    for name in views:
        codes = folder / f"{name}_codes"
        dh.cluster.encode_shards(folder / "model.dhm", views[name], codes, scheduler=address, modality=name)
    (folder / "image_codes" / "part-001.npy").unlink()
    again = dh.cluster.encode_shards(
        folder / "model.dhm", views["image"], folder / "image_codes", scheduler=address, modality="image"
    )
    print(f"resumed: {again.resumed} of {again.shards} shards were there already")

    # 3. Search. Codes are small, so one machine holds those of many rows.
    images, texts = (
        np.concatenate([np.load(path) for path in sorted((folder / f"{name}_codes").glob("*.npy"))])
        for name in views
    )
    nearest = dh.HammingIndex(images).search(texts[:500], k=50).ids
    found = np.mean([row in hits for row, hits in enumerate(nearest)])
    print(f"the picture of a caption is among the 50 nearest of {len(images):,}: {found:.0%}")

    # 4. The same with Dask arrays, such as those of a Zarr store or a frame.
    import dask.array as da

    arrays = {
        name: da.concatenate([da.from_array(np.load(path)) for path in sorted(views[name].glob("*.npy"))])
        for name in views
    }
    hasher = dh.DiffHash(n_bits=12, random_state=0).fit(arrays, dh.Pairs.aligned(len(images)))
    codes = hasher.encode(arrays["image"], modality="image")
    equal = np.mean(np.unpackbits(codes.compute()) == np.unpackbits(images))
    print(f"bits of the Dask arrays that are equal: {equal:.4%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scheduler", help="address of a Dask scheduler; by default a cluster is started here"
    )
    parser.add_argument("--folder", type=Path, help="where to put the shards; by default a temporary folder")
    parser.add_argument("--rows", type=int, default=8000, help="rows of each of the four shards")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_shards(folder, 4, arguments.rows)
        client = stack.enter_context(dh.cluster.connected(arguments.scheduler or "local", n_workers=2))
        walk(folder, client.scheduler.address)


# The processes of a local cluster import this file.
if __name__ == "__main__":
    main()
