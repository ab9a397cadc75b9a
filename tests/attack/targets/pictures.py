"""Picture files of every kind that is read."""

from __future__ import annotations

import functools
import io
import random
import struct
import zlib
from pathlib import Path

import numpy as np

from diffhash.featurizers import HogFeatures, PictureFeatures
from diffhash.workflows.picture_reader import PictureReader

from ..case import Use, attempt
from ..mutate import mutate_bytes

__all__ = ["make", "picture_bytes"]

_KINDS = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "bmp": "BMP", "tif": "TIFF", "webp": "WEBP"}
_MODES = ["RGB", "L", "RGBA", "P", "1", "I;16", "CMYK", "LA", "F"]


@functools.cache
def _plain(kind: str, mode: str) -> bytes:
    import PIL.Image

    pixels = np.random.default_rng(1).integers(0, 256, (12, 17, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    for way in (mode, "RGB"):
        try:
            PIL.Image.fromarray(pixels).convert(way).save(buffer, format=_KINDS[kind])
            return buffer.getvalue()
        except (OSError, ValueError, KeyError):
            buffer = io.BytesIO()
    raise AssertionError(f"Pillow cannot write {kind}")


def picture_bytes(rng: random.Random, kind: str) -> bytes:
    """A changed picture file."""
    data = _plain(kind, rng.choice(_MODES))
    if kind == "png" and rng.random() < 0.6:
        return _changed_png(rng, data)
    return mutate_bytes(rng, data)


def _changed_png(rng: random.Random, data: bytes) -> bytes:
    """Chunks of a PNG file, changed and with the right checksums."""
    chunks, at = [], 8
    while at + 8 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    number = rng.randrange(len(chunks))
    name, body = chunks[number]
    action = rng.randrange(5)
    if action == 0 and name == b"IHDR":
        size = struct.pack(">II", *rng.choices([0, 1, 17, 9000, 14_000, 2**16, 2**31 - 1, 2**32 - 1], k=2))
        chunks[number] = name, size + body[8:]
    elif action <= 2:
        chunks[number] = name, mutate_bytes(rng, body)
    elif action == 3:
        chunks.insert(
            number,
            (rng.choice([b"iCCP", b"tEXt", b"zTXt", b"eXIf", b"tRNS", b"PLTE", b"IDAT"]), rng.randbytes(30)),
        )
    else:
        del chunks[number]
    parts = [data[:8]]
    for name, body in chunks:
        parts.append(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)))
    return b"".join(parts)


def make(rng: random.Random, folder: Path) -> Use:
    """A changed picture, read for its features and for a thumbnail."""
    kind = rng.choice(sorted(_KINDS))
    path = folder / f"picture.{rng.choice([kind, kind, kind, 'png'])}"
    path.write_bytes(picture_bytes(rng, kind))

    def use() -> bool:
        features = attempt(HogFeatures(size=16).transform, [path])
        attempt(PictureFeatures().transform, [path])
        for skip in (False, True):
            reader = PictureReader({"a": path}, "photo", thumbnails=True, skip=skip)
            attempt(reader.read, ["a"])
        return features is not None

    return use
