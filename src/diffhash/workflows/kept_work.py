"""What an interrupted build has done, kept beside its output: the same build continues from there.

The file has arrays only (``.npz`` without pickle): features, thumbnails and names of the pictures that were
read, and the model if it was learned. It is used only by a build of the same pictures, captions and settings.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import replacing
from ..errors import DiffhashError
from ..model import HashModel
from ..output_files import OutputKind, starts_with
from ..types import FloatArray
from .captions import CaptionedPictures

__all__ = ["InterruptedBuild", "KeptWork", "fingerprint", "kept_path", "load_kept", "save_kept"]

_KIND = OutputKind("kept work of a build", starts_with(b"PK"))


class InterruptedBuild(KeyboardInterrupt):
    """A build was interrupted; the message says what was kept."""


@dataclass(frozen=True)
class KeptWork:
    """What a build has done.

    Attributes
    ----------
    pictures : list of str
        Names of the pictures that were read.
    features : array of shape (n, n_features)
    thumbnails : list of str
        Empty if none are made.
    model : HashModel or None
    learned_from : str
    """

    pictures: Sequence[str]
    features: FloatArray
    thumbnails: Sequence[str]
    model: HashModel | None = None
    learned_from: str = ""

    def described(self) -> str:
        """For people."""
        learned = "" if self.model is None else " and the learned model"
        return f"{len(self.pictures):,} pictures{learned}"


def kept_path(out: Path) -> Path:
    """The file beside a collection."""
    return out.with_name(f"{out.name}.resume.npz")


def fingerprint(data: CaptionedPictures, settings: Mapping[str, Any]) -> str:
    """A checksum of everything that the work depends on: names, sizes and times of the pictures, captions, settings."""
    pictures = []
    for name, path in data.pictures.items():
        found = path.stat()
        pictures.append([name, found.st_size, found.st_mtime_ns])
    captions = [[caption.picture, caption.text] for caption in data.captions]
    text = json.dumps([pictures, captions, settings], default=str, sort_keys=True)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def save_kept(out: Path, work: KeptWork, mark: str) -> None:
    """Write the work of a build."""
    model = b"" if work.model is None else work.model.to_bytes()
    lists = {
        "mark": mark,
        "pictures": work.pictures,
        "thumbnails": work.thumbnails,
        "learned": work.learned_from,
    }
    with replacing(kept_path(out), _KIND) as part, part.open("wb") as file:
        np.savez(
            file,
            features=work.features,
            lists=np.frombuffer(json.dumps(lists).encode(), dtype=np.uint8),
            model=np.frombuffer(model, dtype=np.uint8),
        )


def load_kept(out: Path, mark: str, n_features: int) -> KeptWork | None:
    """The work of an interrupted build of the same data; None if there is none, or if it cannot be read."""
    path = kept_path(out)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            lists = json.loads(arrays["lists"].tobytes())
            if lists["mark"] != mark:
                return None
            features, model = arrays["features"], arrays["model"].tobytes()
            pictures, thumbnails, learned = lists["pictures"], lists["thumbnails"], lists["learned"]
        fits = features.dtype == np.float32 and features.shape == (len(pictures), n_features)
        if not fits or len(thumbnails) not in (0, len(pictures)):
            return None
        made = HashModel.from_bytes(model) if model else None
        return KeptWork(pictures, features, thumbnails, made, str(learned))
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile, DiffhashError):
        return None
