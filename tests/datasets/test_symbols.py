"""The symbols data set is complete, drawn correctly and the same at every call."""

import sys
import unicodedata

import numpy as np
import pytest

from diffhash.datasets import load_symbols
from diffhash.datasets.glyphs import frame
from diffhash.errors import InputError, MissingExtraError, ParameterError


@pytest.fixture(scope="module")
def symbols():
    return load_symbols()


def picture(symbols, name):
    return symbols.pictures[symbols.names.index(name)].astype(int)


def test_all_attributes_have_the_same_rows(symbols):
    n = len(symbols)

    assert n > 5500
    assert len(symbols.characters) == len(symbols.groups) == len(symbols.pictures) == n
    assert symbols.views["image"].shape[0] == symbols.views["text"].shape[0] == n
    assert symbols.views["image"].dtype == symbols.views["text"].dtype == np.float32
    assert symbols.names == [unicodedata.name(character) for character in symbols.characters]
    assert len(set(symbols.names)) == n


def test_every_picture_has_ink(symbols):
    assert symbols.pictures.any(axis=(1, 2)).all()


@pytest.mark.parametrize("ink", [(0, 0, 5, 5), (140, 60, 190, 150), (10, 20, 300, 90), (100, 0, 110, 250)])
def test_the_frame_is_a_square_that_holds_all_ink(ink):
    """A large drawing, or one far from the centre, is not clipped."""
    left, top, right, bottom = frame(ink, across=144.0, down=110.0)

    assert left <= ink[0] < ink[2] <= right
    assert top <= ink[1] < ink[3] <= bottom
    assert right - left == pytest.approx(bottom - top)


def test_scale_and_position_are_kept(symbols):
    """A full stop is smaller than a black square, and an apostrophe is higher than a comma."""
    rows = np.arange(32)
    height = {
        name: (picture(symbols, name).sum(axis=1) * rows).sum() / picture(symbols, name).sum()
        for name in ("APOSTROPHE", "COMMA")
    }

    assert picture(symbols, "FULL STOP").sum() < picture(symbols, "BLACK SQUARE").sum() / 5
    assert height["APOSTROPHE"] < 14 < 18 < height["COMMA"]


def test_mirrored_characters_have_mirrored_pictures(symbols):
    left, right = picture(symbols, "LEFTWARDS ARROW"), picture(symbols, "RIGHTWARDS ARROW")

    assert np.abs(left - right[:, ::-1]).mean() < np.abs(left - right).mean() / 3


def test_no_blank_and_no_unnamed_characters(symbols):
    assert "\N{SPACE}" not in symbols.characters
    assert not any(unicodedata.category(character) == "Co" for character in symbols.characters)


def test_loading_again_gives_the_same(symbols):
    again = load_symbols()

    assert again.names == symbols.names
    np.testing.assert_array_equal(again.pictures, symbols.pictures)
    np.testing.assert_array_equal(again.views["image"], symbols.views["image"])
    assert (again.views["text"] != symbols.views["text"]).nnz == 0


def test_split_puts_every_row_into_one_part(symbols):
    train, test = symbols.split(n_test=600, random_state=3)

    assert len(test) == 600
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(symbols)))
    np.testing.assert_array_equal(symbols.split(n_test=600, random_state=3)[1], test)


def test_split_by_group_leaves_no_block_in_both_parts(symbols):
    train, test = symbols.split(n_test=600, by_group=True)

    assert 500 < len(test) <= 600
    assert not set(symbols.groups[train]) & set(symbols.groups[test])


def test_text_can_be_learned_from_training_rows_only(symbols):
    """A word that occurs only in test names has no column then."""
    arrows = np.flatnonzero(symbols.groups == "Arrows")

    fitted = symbols.fit_text(arrows)

    assert "arrow" in fitted.text_featurizer.words_
    assert "latin" not in fitted.text_featurizer.words_
    assert fitted.views["text"].shape == (len(symbols), len(fitted.text_featurizer.words_))
    assert "latin" in symbols.text_featurizer.words_


def test_a_smaller_picture_has_as_many_features():
    small = load_symbols(size=16)

    assert small.pictures.shape[1:] == (16, 16)
    assert small.views["image"].shape[1] == 964


@pytest.mark.parametrize("missing", ["matplotlib", "PIL"])
def test_a_missing_extra_prints_the_install_line(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(MissingExtraError, match=r"pip install 'diffhash\[report\]'") as caught:
        load_symbols()

    assert isinstance(caught.value, ImportError)


def test_bad_parameters_raise_errors_that_name_them(symbols):
    with pytest.raises(ParameterError, match="n_test must be between 1 and"):
        symbols.split(n_test=len(symbols))
    with pytest.raises(ParameterError, match="size must be at least 8"):
        load_symbols(size=4)
    with pytest.raises(InputError, match="row numbers"):
        symbols.fit_text(np.array([0.5]))


@pytest.fixture(scope="module")
def four():
    return load_symbols(views=("image", "text", "serif", "properties"))


def test_more_views_do_not_change_the_others(symbols, four):
    assert tuple(symbols.views) == ("image", "text")
    assert tuple(four.views) == tuple(four.rows) == ("image", "text", "serif", "properties")
    np.testing.assert_array_equal(four.views["image"], symbols.views["image"])
    assert (four.views["text"] != symbols.views["text"]).nnz == 0


def test_the_serif_view_has_gaps_and_says_which_characters_it_has(four):
    rows = four.rows["serif"]

    assert 0.4 * len(four) < len(rows) < 0.7 * len(four)
    assert len(np.unique(rows)) == len(rows) == len(four.views["serif"])
    # The glyph of a character in another face is usually nearer to its own picture than to those of the next ones.
    serif, sans = four.views["serif"][:200], four.views["image"][rows[:200]]
    distances = ((serif[:, None] - sans[None]) ** 2).sum(axis=2)
    assert (distances.argmin(axis=1) == np.arange(200)).mean() > 0.8


def test_properties_are_those_of_unicode(four):
    columns = {name: column for column, name in enumerate(four.property_names)}
    features = four.views["properties"]

    assert features.shape == (len(four), len(columns))
    for name, row in (
        ("LATIN CAPITAL LETTER A", "category Lu"),
        ("GREEK SMALL LETTER ALPHA", "script Greek"),
    ):
        assert features[four.names.index(name), columns[row]] == 1
    five = features[four.names.index("DIGIT FIVE")]
    assert five[columns["numeric value"]] == pytest.approx(np.log(6))
    assert features[four.names.index("LATIN CAPITAL LETTER A"), columns["numeric"]] == 0
    assert features.any(axis=1).all()


def test_a_part_has_the_rows_of_its_characters(four):
    characters = np.array([3, 1000, 4000, 5000])

    views, ids = four.take(characters)

    for name, rows in ids.items():
        assert set(rows) <= set(characters)
        assert views[name].shape[0] == len(rows)
    np.testing.assert_array_equal(ids["text"], characters)
    np.testing.assert_array_equal(views["image"], four.views["image"][characters])


@pytest.mark.parametrize("views", [(), ("image", "smell"), "smell"])
def test_unknown_views_are_named(views):
    with pytest.raises(ParameterError, match="views must be some of image, text, serif, properties"):
        load_symbols(views=views)
