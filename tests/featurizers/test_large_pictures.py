"""Large pictures: reduced while they are decoded, within a limit of memory and pixels."""

import io
import struct
import subprocess
import sys
import zlib

import numpy as np
import PIL.Image
import pytest

from diffhash.errors import InputFileError
from diffhash.featurizers import PictureFeatures, opaque_pictures, picture_opening, read_pictures
from diffhash.featurizers.opaque_pictures import opaque_picture
from diffhash.featurizers.png_strips import png_strips, read_png_header

MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]


@pytest.fixture
def photograph(rng):
    """Smooth in one half, noise in the other: a PNG of it uses several filters."""
    small = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    pixels = np.array(PIL.Image.fromarray(small).resize((61, 43), PIL.Image.Resampling.BICUBIC))
    pixels[:, 30:] ^= rng.integers(0, 32, (43, 31, 3), dtype=np.uint8)
    return PIL.Image.fromarray(pixels)


@pytest.fixture
def everything_is_large(monkeypatch):
    """Pictures of more than 500 pixels are reduced to at most 100, in strips of 128 pixels or more."""
    monkeypatch.setattr(opaque_pictures, "LARGE", 500)
    monkeypatch.setattr(picture_opening, "LARGE", 500)
    monkeypatch.setattr(opaque_pictures, "_REDUCED", 100)
    monkeypatch.setattr(opaque_pictures, "_STRIP", 128)


def in_mode(picture, mode):
    if mode == "I;16":
        return PIL.Image.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 257)
    if mode in ("LA", "RGBA"):
        picture = picture.copy()
        picture.putalpha(picture.getchannel("G"))
    return picture.convert(mode)


def png_bytes(picture, **options):
    with io.BytesIO() as buffer:
        picture.save(buffer, "PNG", **options)
        return buffer.getvalue()


def strips_of(data, n_rows):
    file = io.BytesIO(data)
    header = read_png_header(file)
    return list(png_strips(file, header, n_rows))


@pytest.mark.parametrize("n_rows", [1, 4, 43, 100])
@pytest.mark.parametrize("mode", MODES)
def test_strips_of_a_png_are_the_rows_of_the_picture(photograph, mode, n_rows):
    picture = in_mode(photograph, mode)

    strips = strips_of(png_bytes(picture), n_rows)

    assert {strip.mode for strip in strips} == {mode}
    np.testing.assert_array_equal(
        np.concatenate([np.asarray(strip) for strip in strips]), np.asarray(picture)
    )


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_strips_of_few_colours_keep_the_palette_and_the_transparent_one(photograph, bits):
    picture = photograph.convert("P", palette=PIL.Image.Palette.ADAPTIVE, colors=2**bits)

    strips = strips_of(png_bytes(picture, bits=bits, transparency=1), 5)

    shown = np.concatenate([np.asarray(strip.convert("RGBA")) for strip in strips])
    picture.info["transparency"] = 1
    np.testing.assert_array_equal(shown, np.asarray(picture.convert("RGBA")))


def test_every_filter_of_a_png_is_undone(rng):
    """Row r has filter r mod 5: none, left, above, average, Paeth."""
    rows = rng.integers(0, 256, (23, 40), dtype=np.uint8)
    rows[:, 0] = np.arange(23) % 5
    header = struct.pack(">IIBBBBB", 13, 23, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )

    strips = strips_of(data, 4)

    whole = np.asarray(PIL.Image.open(io.BytesIO(data)))
    np.testing.assert_array_equal(np.concatenate([np.asarray(strip) for strip in strips]), whole)


@pytest.mark.parametrize("kept", [60, 0.5, 0.95])
def test_a_png_that_ends_early_is_an_error(photograph, kept):
    data = png_bytes(photograph)
    cut = data[: kept if kept > 1 else int(kept * len(data))]

    with pytest.raises(OSError, match="truncated"):
        strips_of(cut, 4)


def test_interlaced_files_and_colours_of_16_bits_are_not_decoded_in_strips(photograph):
    data = png_bytes(photograph)

    for place, value in ((28, 1), (24, 16)):
        assert read_png_header(io.BytesIO(data[:place] + bytes([value]) + data[place + 1 :])) is None


@pytest.mark.parametrize("mode", [*MODES, "CMYK", "YCbCr", "I", "F", "PA"])
def test_a_large_picture_is_the_mean_of_squares(photograph, everything_is_large, mode):
    """61 × 43 pixels become at most 100 with squares of 6 × 6."""
    picture = in_mode(photograph, mode)

    reduced = opaque_picture(picture)

    assert reduced.size == (11, 8)
    white = PIL.Image.new("RGBA", picture.size, (255, 255, 255, 255))
    if mode in ("LA", "RGBA", "PA"):
        shown = PIL.Image.alpha_composite(white, picture.convert("RGBA")).convert("RGB")
    elif mode in ("I;16", "I", "F"):
        values = np.asarray(picture, dtype=float)
        shown = PIL.Image.fromarray((values / 256 if mode == "I;16" else _stretched(values)).astype(np.uint8))
    else:
        shown = (
            picture if mode in ("CMYK", "YCbCr") else picture.convert("L" if mode in ("1", "L") else "RGB")
        )
    assert np.abs(np.asarray(reduced).astype(int) - np.asarray(shown.reduce(6))).max() <= 1


def _stretched(values):
    return (values - values.min()) * 255 / (values.max() - values.min())


@pytest.mark.parametrize("mode", MODES)
def test_a_large_png_file_is_reduced_like_the_picture_in_memory(
    photograph, everything_is_large, tmp_path, mode
):
    picture = in_mode(photograph, mode)
    picture.save(tmp_path / "a.png")

    file, memory = read_pictures([tmp_path / "a.png", picture], size=16, mode="RGB", caller="test")

    np.testing.assert_array_equal(file, memory)


@pytest.mark.parametrize("name", ["a.webp", "a.tif", "a.bmp", "a.ppm"])
def test_large_files_of_other_formats_are_reduced_too(photograph, everything_is_large, tmp_path, name):
    photograph.save(tmp_path / name, **({"lossless": True} if name == "a.webp" else {}))

    file, memory = read_pictures([tmp_path / name, photograph], size=16, mode="RGB", caller="test")

    np.testing.assert_array_equal(file, memory)


def test_a_large_jpeg_2000_file_is_decoded_at_a_lower_resolution(
    photograph, everything_is_large, tmp_path, monkeypatch
):
    monkeypatch.setattr(picture_opening, "_REDUCED", 1000)
    photograph.resize((256, 128)).save(tmp_path / "a.jp2")

    with picture_opening.open_picture(tmp_path / "a.jp2", 16, caller="test") as image:
        image.load()
        assert image.size == (32, 16)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
def test_the_orientation_of_a_large_picture_is_applied(photograph, everything_is_large, tmp_path, name):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # rotate by 90° clockwise to show it
    photograph = photograph.resize((60, 42))  # the squares are the same from every corner
    photograph.transpose(PIL.Image.Transpose.ROTATE_90).save(tmp_path / name, exif=exif)

    rows = read_pictures([tmp_path / name, photograph], size=8, mode="RGB", caller="test")

    assert np.abs(rows[0].astype(int) - rows[1]).max() <= 1


def test_a_large_flat_png_takes_little_memory(tmp_path):
    """36 million pixels of three bytes; decoded as a whole they are 144 MB."""
    PIL.Image.new("RGB", (6000, 6000), (10, 20, 200)).save(tmp_path / "flat.png")
    program = (
        "import sys; from diffhash.featurizers import read_pictures as read\n"
        "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "import PIL.Image, PIL.PngImagePlugin; before = peak()\n"
        "pixels = read([sys.argv[1]], size=8, mode='RGB', caller='test')\n"
        "assert (pixels == [10, 20, 200]).all(); print(peak() - before)"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "flat.png"], capture_output=True, text=True, check=True
    )

    assert int(ran.stdout) < 60_000


def forbid_decoding(monkeypatch):
    def decoded(*_):
        raise AssertionError("the picture was decoded")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", decoded)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.tif", {"compression": "tiff_deflate"}),
        ("a.webp", {}),
        ("a.jpg", {"progressive": True}),
        ("a.jp2", {}),
    ],
)
def test_a_picture_that_takes_too_much_memory_is_not_decoded(tmp_path, monkeypatch, name, options):
    PIL.Image.new("RGB", (500, 400)).save(tmp_path / name, **options)
    monkeypatch.setattr(picture_opening, "_FREE_BYTES", 1_000_000)
    monkeypatch.setattr(picture_opening, "_BYTES_PER_BYTE", 1)
    forbid_decoding(monkeypatch)

    with pytest.raises(
        InputFileError, match=rf"{name} cannot be read .* 500 × 400 pixels .* MB of memory\. Save"
    ):
        PictureFeatures().transform([tmp_path / name])


@pytest.mark.parametrize(("width", "height"), [(20_000, 8_800), (1, 1_000_001), (1_000_001, 2)])
def test_a_picture_with_too_many_pixels_is_not_decoded(tmp_path, monkeypatch, width, height):
    data = png_bytes(PIL.Image.new("L", (8, 8)))
    header = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    (tmp_path / "bomb.png").write_bytes(
        data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:]
    )
    forbid_decoding(monkeypatch)

    with pytest.raises(
        InputFileError, match=f"it has {width:,} × {height:,} pixels. At most 175,000,000 are read"
    ):
        PictureFeatures().transform([tmp_path / "bomb.png"])
