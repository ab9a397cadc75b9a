"""Decode a PNG file strip by strip, so that a large picture never is in memory as a whole.

Pillow decodes a PNG only as a whole. But the rows of a PNG are one zlib stream, and a row depends on no more than
the row above it. So a few rows of the stream, with the row above them, are made into a small PNG, which Pillow
decodes. If a byte is not simply a value, this happens twice: once for the bytes of the rows, and once for their
meaning (palette, depth, transparent colour).
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["PngHeader", "png_strips", "read_png_header"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Values in a pixel, by the colour type of the header.
_VALUES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
#: Colour types of 8-bit pictures with pixels of so many bytes: grey, grey and opacity, RGB, RGBA.
_TYPE_OF_BYTES = {1: 0, 2: 4, 3: 2, 4: 6}
#: Bytes of the compressed stream that are read at a time.
_PIECE = 1 << 16
#: Largest chunk that is kept: a palette has 768 bytes, and EXIF data fits into 64 kB.
_MAX_CHUNK = 1 << 16


class PngHeader(NamedTuple):
    """What the rows of a PNG file mean.

    Attributes
    ----------
    width, height, depth, colour_type : int
        From the header; depth is the number of bits in a value.
    meaning : bytes
        The palette and the transparent colour, as chunks.
    exif : bytes
        EXIF data, if they come before the pixels.
    """

    width: int
    height: int
    depth: int
    colour_type: int
    meaning: bytes
    exif: bytes

    @property
    def pixel_bytes(self) -> int:
        """Distance in bytes to the left neighbour that a row is predicted from."""
        return max(1, self.depth * _VALUES[self.colour_type] // 8)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row, without the one that names its filter."""
        return -(-self.width * self.depth * _VALUES[self.colour_type] // 8)


def read_png_header(file: IO[bytes]) -> PngHeader | None:
    """The header of a PNG file that can be decoded in strips, or None.

    Interlaced pictures, and colours of 16 bits, cannot. Afterwards ``file`` is at the first chunk of pixels.
    """
    file.seek(0)
    if file.read(8) != _SIGNATURE:
        return None
    name, body = _read_chunk(file)
    if name != b"IHDR" or len(body) != 13:
        return None
    width, height, depth, colour_type, _, _, interlaced = struct.unpack(">IIBBBBB", body)
    meaning, exif = b"", b""
    while True:
        place = file.tell()
        name, body = _read_chunk(file)
        if name == b"IDAT":
            break
        if name in (b"PLTE", b"tRNS"):
            meaning += _chunk(name, body)
        elif name == b"eXIf":
            exif = body
        elif name == b"IEND":
            return None
    file.seek(place)
    if interlaced or colour_type not in _VALUES or depth not in (1, 2, 4, 8, 16):
        return None
    header = PngHeader(width, height, depth, colour_type, meaning, exif)
    return header if header.pixel_bytes in _TYPE_OF_BYTES else None


def png_strips(file: IO[bytes], header: PngHeader, n_rows: int) -> Iterator[PIL.Image.Image]:
    """Decode ``n_rows`` rows at a time; the last strip may have fewer.

    Parameters
    ----------
    file : binary file
        At the first chunk of pixels, as :func:`read_png_header` leaves it.
    header : PngHeader
    n_rows : int

    Yields
    ------
    PIL.Image.Image
        As high as the strip and as wide as the picture. A file that ends too early is an OSError.
    """
    stream = _Stream(file)
    above = b"\0" * header.row_bytes
    columns = header.row_bytes // header.pixel_bytes
    colour_type = _TYPE_OF_BYTES[header.pixel_bytes]
    is_plain = header.depth == 8 and header.colour_type != 3 and not header.meaning
    for top in range(0, header.height, n_rows):
        rows = min(n_rows, header.height - top)
        filtered = stream.read(rows * (1 + header.row_bytes))
        decoded = _open(columns, rows + 1, 8, colour_type, b"", b"\0" + above + filtered)
        above = decoded.crop((0, rows, columns, rows + 1)).tobytes()
        strip = decoded.crop((0, 1, columns, rows + 1))
        if is_plain:
            yield strip
            continue
        marked = np.zeros((rows, 1 + header.row_bytes), dtype=np.uint8)  # filter 0: the bytes themselves
        marked[:, 1:] = np.frombuffer(strip.tobytes(), dtype=np.uint8).reshape(rows, -1)
        yield _open(header.width, rows, header.depth, header.colour_type, header.meaning, marked.tobytes())


class _Stream:
    """The bytes of all rows, from the chunks of a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, 0
        self._inflate = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        parts = []
        while size:
            piece = self._inflate.unconsumed_tail or self._compressed()
            part = self._inflate.decompress(piece, size)
            if not part and not piece:
                raise OSError("image file is truncated")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _compressed(self) -> bytes:
        """The next bytes of the chunks of pixels; empty after the last one."""
        while not self._left:
            head = self._file.read(8)
            if len(head) < 8 or head[4:] != b"IDAT":
                return b""
            self._left = int.from_bytes(head[:4], "big")
            if not self._left:
                self._file.read(4)
        piece = self._file.read(min(_PIECE, self._left))
        if not piece:
            return b""
        self._left -= len(piece)
        if not self._left:
            self._file.read(4)  # the checksum of the chunk, which Pillow does not check for pixels either
        return piece


def _open(
    width: int, height: int, depth: int, colour_type: int, meaning: bytes, rows: bytes
) -> PIL.Image.Image:
    import PIL.Image

    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0))
    pixels = _chunk(b"IDAT", zlib.compress(rows, 0))
    image = PIL.Image.open(
        io.BytesIO(_SIGNATURE + header + meaning + pixels + _chunk(b"IEND", b"")), formats=("PNG",)
    )
    image.load()
    return image


def _chunk(name: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")


def _read_chunk(file: IO[bytes]) -> tuple[bytes, bytes]:
    """Name and content of a chunk; pixels, and chunks that are too long to be of use, have no content."""
    head = file.read(8)
    if len(head) < 8:
        raise OSError("image file is truncated")
    length, name = int.from_bytes(head[:4], "big"), head[4:]
    if name == b"IDAT" or length > _MAX_CHUNK:
        file.seek(length + 4, io.SEEK_CUR)
        return name, b""
    body = file.read(length)
    file.read(4)
    return name, body
