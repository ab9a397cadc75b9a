"""Photographs: reading them from files, images and arrays, resizing, gradients and colours."""

import colorsys
import random
import sys

import numpy as np
import PIL.Image
import pytest

from diffhash.errors import InputError, InputFileError, MissingExtraError, ParameterError
from diffhash.featurizers import HogFeatures, PictureFeatures, colour_histograms, read_pictures


@pytest.fixture
def photograph(rng):
    """A smooth colour picture that is wider than high."""
    small = rng.integers(0, 256, (6, 9, 3), dtype=np.uint8)
    return np.asarray(PIL.Image.fromarray(small).resize((90, 60), PIL.Image.Resampling.BICUBIC))


def slow_colours(picture, grid, hues, greys):
    """Loop over pixels; the hue comes from Python's colorsys."""
    height, width, _ = picture.shape
    shares = np.zeros((grid, grid, hues + greys))
    for r in range(height):
        for c in range(width):
            cell = shares[r * grid // height, c * grid // width]
            rgb = picture[r, c] / 255
            chroma = rgb.max() - rgb.min()
            for start, n, place, weight, circle in (
                (0, hues, colorsys.rgb_to_hsv(*rgb)[0] * hues, chroma, True),
                (hues, greys, rgb.max() * (greys - 1), 1 - chroma, False),
            ):
                for b in range(n):
                    apart = abs(b - place)
                    apart = min(apart, n - apart) if circle else apart
                    cell[start + b] += weight * max(0, 1 - apart)
    return np.sqrt(shares / shares.sum(axis=2, keepdims=True)).ravel()


@pytest.mark.parametrize(("grid", "hues", "greys"), [(1, 3, 2), (2, 12, 4), (3, 5, 3)])
def test_colours_equal_the_loop_over_pixels(rng, grid, hues, greys):
    pictures = rng.integers(0, 256, (3, 7, 8, 3), dtype=np.uint8)

    fast = colour_histograms(pictures, grid=grid, hues=hues, greys=greys)

    slow = [slow_colours(picture, grid, hues, greys) for picture in pictures]
    np.testing.assert_allclose(fast, slow, atol=2e-3)


def test_many_pictures_give_the_same_features_as_single_ones(rng):
    pictures = rng.integers(0, 256, (300, 8, 8, 3), dtype=np.uint8)

    np.testing.assert_allclose(
        colour_histograms(pictures)[270:272], colour_histograms(pictures[270:272]), atol=1e-6
    )


def test_features_depend_on_colour(photograph):
    """A picture with exchanged colour channels has clearly different features."""
    features = PictureFeatures(thumbnail=0)
    turned = photograph[..., [1, 2, 0]]
    a, b = features.transform([photograph, turned])

    assert np.linalg.norm(a[-256:] - b[-256:]) > 0.3


def test_paths_images_and_arrays_give_the_same(photograph, tmp_path):
    PIL.Image.fromarray(photograph).save(tmp_path / "p.png")
    raw = [
        tmp_path / "p.png",
        str(tmp_path / "p.png"),
        photograph,
        PIL.Image.fromarray(photograph),
        photograph[::1, ::1].copy(order="F"),
    ]

    rows = PictureFeatures().transform(raw)

    assert rows.dtype == np.float32
    for row in rows[1:]:
        np.testing.assert_array_equal(row, rows[0])


def test_a_batch_in_one_array_is_a_list_of_pictures(photograph):
    batch = np.stack([photograph, photograph[::-1]])
    features = PictureFeatures()

    np.testing.assert_array_equal(features.transform(batch), features.transform(list(batch)))
    np.testing.assert_array_equal(
        features.transform(batch[..., 0]), features.transform([picture[..., 0] for picture in batch])
    )


def test_any_size_and_mode_gives_as_many_features(photograph, tmp_path):
    image = PIL.Image.fromarray(photograph)
    raw = [image.convert(mode) for mode in ("L", "1", "P", "RGBA", "LA", "CMYK", "YCbCr", "HSV", "I", "F")]
    raw += [image.resize((1, 1)), image.resize((3000, 2)), photograph[:, :, :1].repeat(4, axis=2)]
    features = PictureFeatures()

    rows = features.transform(raw)

    assert rows.shape == (len(raw), features.n_features)
    assert np.isfinite(rows).all()
    assert features.transform([]).shape == (0, features.n_features)


def test_sixteen_bit_grey_is_not_cut_off(rng, tmp_path):
    """Pillow clips values above 255 when it converts, and the picture would become white."""
    eight = rng.integers(0, 256, (32, 32), dtype=np.uint8)
    PIL.Image.fromarray(eight.astype(np.uint16) * 256).save(tmp_path / "deep.png")

    read = read_pictures([tmp_path / "deep.png"], size=32, mode="L", caller="test")

    np.testing.assert_array_equal(read[0], eight)


def test_transparent_parts_are_white(tmp_path):
    PIL.Image.new("RGBA", (9, 9), (10, 200, 30, 0)).save(tmp_path / "nothing.png")

    assert (read_pictures([tmp_path / "nothing.png"], size=16, mode="RGB", caller="test") == 255).all()


def test_the_stored_orientation_is_applied(photograph, tmp_path):
    """A camera that is held upright stores a rotated picture and the orientation beside it."""
    turned = PIL.Image.fromarray(photograph).transpose(PIL.Image.Transpose.ROTATE_90)
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # rotate by 90° clockwise to show it
    turned.save(tmp_path / "turned.png", exif=exif)

    rows = read_pictures([photograph, tmp_path / "turned.png"], size=32, mode="RGB", caller="test")

    assert np.abs(rows[0].astype(int) - rows[1]).mean() < 3


def test_jpeg_read_at_a_fraction_of_its_size_looks_the_same(photograph, tmp_path):
    large = PIL.Image.fromarray(photograph).resize((1800, 1200), PIL.Image.Resampling.BICUBIC)
    large.save(tmp_path / "large.jpg", quality=95)
    features = PictureFeatures()

    file, memory = features.transform([tmp_path / "large.jpg", large])

    assert file @ memory / (file @ file) > 0.98


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n cut off", b"GIF89a"])
def test_a_broken_file_is_named(tmp_path, content):
    path = tmp_path / "bröken <b>.png"
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"bröken <b>\.png cannot be read as a picture"):
        PictureFeatures().transform([path])


def test_a_cut_off_picture_is_named(photograph, tmp_path):
    path = tmp_path / "cut.png"
    PIL.Image.fromarray(photograph).save(path)
    path.write_bytes(path.read_bytes()[:-400])

    with pytest.raises(InputError, match=r"cut\.png cannot be read"):
        PictureFeatures().transform([path])


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"the picture .*none\.png does not exist"):
        PictureFeatures().transform([tmp_path / "none.png"])
    with pytest.raises(InputError, match="is a folder, not a file"):
        PictureFeatures().transform([tmp_path])


def test_a_picture_too_large_to_open_is_named(photograph, tmp_path, monkeypatch):
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 100)
    PIL.Image.fromarray(photograph).save(tmp_path / "bomb.png")

    with pytest.raises(InputError, match=r"bomb\.png cannot be read"):
        PictureFeatures().transform([tmp_path / "bomb.png"])


def test_a_large_drawing_in_black_and_white_is_read(tmp_path):
    PIL.Image.new("1", (4960, 7016), 1).save(tmp_path / "page.png")

    assert PictureFeatures().transform([tmp_path / "page.png"]).shape == (1, PictureFeatures().n_features)


@pytest.mark.parametrize("error", [RuntimeError("a"), IndexError("b"), OverflowError("c"), KeyError("d")])
def test_every_error_of_the_decoder_names_the_file(photograph, tmp_path, monkeypatch, error):
    PIL.Image.fromarray(photograph).save(tmp_path / "a.png")

    def fail(*_):
        raise error

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", fail)
    with pytest.raises(InputFileError, match=r"a\.png cannot be read as a picture"):
        PictureFeatures().transform([tmp_path / "a.png"])


def test_damaged_pictures_raise_nothing_else(photograph, tmp_path):
    """Random bytes are changed in files of all formats."""
    rng = random.Random(2)
    n_read = n_refused = 0
    for kind in ("png", "jpeg", "gif", "webp", "tiff", "bmp"):
        PIL.Image.fromarray(photograph[:24, :24]).save(tmp_path / f"good.{kind}")
        good = (tmp_path / f"good.{kind}").read_bytes()
        for number in range(30):
            data = bytearray(good)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data) if number % 2 else 60)] = rng.randrange(256)
            (tmp_path / f"x.{kind}").write_bytes(data)
            try:
                (found,) = read_pictures([tmp_path / f"x.{kind}"], size=16, mode="RGB", caller="test")
            except InputFileError:
                n_refused += 1
            else:
                n_read += 1
                assert found.shape == (16, 16, 3)
    assert n_read > 0
    assert n_refused > 0


def test_no_other_program_is_started_for_a_picture(tmp_path):
    """Pillow would give a PostScript file to Ghostscript, whatever the name of the file is."""
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")

    with pytest.raises(InputFileError, match="cannot identify"):
        PictureFeatures().transform([tmp_path / "a.png"])


def test_grey_values_that_are_not_finite_are_refused(tmp_path):
    PIL.Image.fromarray(np.array([[0.0, np.inf], [1.0, 2.0]], dtype=np.float32)).save(tmp_path / "a.tiff")

    with pytest.raises(InputFileError, match="not finite"):
        PictureFeatures().transform([tmp_path / "a.tiff"])


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("one.png", r"Write \[picture\]"),
        (PIL.Image.new("L", (4, 4)), r"Write \[picture\]"),
        (np.zeros((5, 5, 3), dtype=np.uint8), r"into a list"),
        (np.zeros((5, 5), dtype=np.uint8), r"into a list"),
        ([np.zeros((5, 5))], "uint8"),
        ([np.zeros((5, 5, 2), dtype=np.uint8)], "uint8 array of shape"),
        ([np.zeros((0, 5), dtype=np.uint8)], "uint8 array of shape"),
        ([b"bytes"], r"picture 0 cannot be read as a picture \(cannot identify image file\)"),
        ([None], "NoneType"),
        (7, "list of pictures"),
    ],
)
def test_input_that_is_not_a_list_of_pictures_is_refused(raw, words):
    with pytest.raises(InputError, match=words):
        PictureFeatures().transform(raw)


def test_missing_pillow_prints_the_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'diffhash\[pictures\]'"):
        PictureFeatures().transform([np.zeros((5, 5), dtype=np.uint8)])


@pytest.mark.parametrize(
    "parameters",
    [{"size": 4}, {"cells": 1}, {"greys": 1}, {"thumbnail": 65}, {"colour_weight": -1}, {"hues": 2.5}],
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        PictureFeatures(**parameters).fit()


def test_drawings_are_read_from_a_list_too(tmp_path, rng):
    """The same drawing in a batch, in a list and in a file gives the same features."""
    drawing = rng.integers(0, 256, (32, 32), dtype=np.uint8)
    PIL.Image.fromarray(drawing).save(tmp_path / "d.png")
    features = HogFeatures(cells=4)

    rows = features.transform([drawing, tmp_path / "d.png"])

    np.testing.assert_array_equal(rows[1], rows[0])
    np.testing.assert_array_equal(rows[:1], features.transform(drawing[None]))
    assert rows.shape[1] == features.n_features
