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

__all__ = ["make", "make_large", "picture_bytes"]

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


def _large_png(rng: random.Random) -> bytes:
    """A PNG of tens of millions of pixels in few bytes: rows of one byte, with random filters and a wrong end."""
    depth, colour_type = rng.choice(
        [(8, 0), (8, 2), (8, 3), (8, 4), (1, 0), (4, 3), (16, 0), (16, 2), (16, 6)]
    )
    values = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour_type]
    width = rng.choice([1, 30, 5_000, 9_000, 70_000, 999_999, 1_000_001])
    height = rng.randrange(20_000_000, rng.choice([40_000_000, 60_000_000, 200_000_000])) // width
    row = rng.randrange(5).to_bytes() + bytes([rng.randrange(256)]) * -(-width * values * depth // 8)
    # What is not there costs nothing, so that most of the picture may be missing.
    n_rows = min(height, 60_000_000 // len(row))
    squeeze = zlib.compressobj(1)
    pixels = b"".join(squeeze.compress(row) for _ in range(n_rows)) + squeeze.flush()
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, rng.random() < 0.1))]
    if colour_type == 3 and rng.random() < 0.9:
        chunks.append((b"PLTE", rng.randbytes(3 * rng.randrange(1, 17))))
    if rng.random() < 0.3:
        chunks.append((b"tRNS", rng.randbytes(rng.choice([2, 6, 16]))))
    step = rng.choice([len(pixels), 1 << 13]) or 1
    chunks += [(b"IDAT", pixels[start : start + step]) for start in range(0, len(pixels), step)]
    parts = [b"\x89PNG\r\n\x1a\n"]
    for name, body in [*chunks, (b"IEND", b"")]:
        parts.append(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)))
    data = b"".join(parts)
    return mutate_bytes(rng, data) if rng.random() < 0.3 else data


def _large_picture(rng: random.Random, kind: str) -> bytes:
    """A picture of another format with tens of millions of equal pixels."""
    import PIL.Image

    side = rng.choice([4_990, 5_010, 7_000])
    options = {"tif": {"compression": "tiff_deflate"}, "webp": {"method": 0}, "jpg": {"progressive": True}}
    with io.BytesIO() as buffer:
        image = PIL.Image.new("L" if kind == "gif" else "RGB", (side, side))
        image.save(buffer, _KINDS[kind], **options.get(kind, {}))
        return buffer.getvalue()


def make_large(rng: random.Random, folder: Path) -> Use:
    """A picture of far more pixels than bytes: it is read in little memory, or refused."""
    kind = rng.choice(["png", "png", "png", "png", "tif", "webp", "jpg", "gif"])
    path = folder / f"large.{kind}"
    path.write_bytes(_large_png(rng) if kind == "png" else _large_picture(rng, kind))
    return lambda: (
        attempt(PictureReader({"a": path}, PictureFeatures(), thumbnails=True, skip=False).read, ["a"])
        is not None
    )


def make(rng: random.Random, folder: Path) -> Use:
    """A changed picture, read for its features and for a thumbnail."""
    kind = rng.choice(sorted(_KINDS))
    path = folder / f"picture.{rng.choice([kind, kind, kind, 'png'])}"
    path.write_bytes(picture_bytes(rng, kind))

    def use() -> bool:
        features = attempt(HogFeatures(size=16).transform, [path])
        attempt(PictureFeatures().transform, [path])
        for skip in (False, True):
            reader = PictureReader({"a": path}, PictureFeatures(), thumbnails=True, skip=skip)
            attempt(reader.read, ["a"])
        return features is not None

    return use
