"""What holds for every peer; raw signs; tuning."""

from math import prod

import numpy as np
import pytest
from scipy import sparse

from benchmarks.peers import (
    ALIGNED_PEERS,
    CCAITQ,
    PEERS,
    RawSigns,
    RotatedSigns,
    tune,
)
from diffhash.codes import unpack
from diffhash.errors import (
    FeatureCountError,
    InputError,
    NotFittedError,
    TooManyBitsError,
    UnknownModalityError,
)

BITS = 5
EVERY = [pytest.param(peer, id=peer.name) for peer in (*PEERS, *ALIGNED_PEERS)]


@pytest.fixture(scope="module")
def data():
    """120 objects of 5 classes; both views 8-d, as the peers for aligned embeddings need."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 5
    shared = rng.standard_normal((5, 8))[labels]
    views = {m: shared + 0.5 * rng.standard_normal((120, 8)) for m in ("image", "text")}
    return views, labels


def nearest_is_right(queries, database, query_labels, database_labels):
    """Share of queries whose nearest item has their label: a score for tests."""
    if queries.dtype == np.uint8:
        apart = np.bitwise_count(queries[:, None] ^ database).sum(axis=2)
    else:
        apart = -(queries @ database.T) / np.linalg.norm(database, axis=1)
    return float(np.mean(database_labels[apart.argmin(axis=1)] == query_labels))


@pytest.mark.parametrize("factory", EVERY)
def test_every_peer_is_far_better_than_chance_on_easy_classes(factory, data):
    views, labels = data
    train, test = slice(0, 80), slice(80, 120)
    peer = factory(n_bits=BITS).fit({m: X[train] for m, X in views.items()}, labels[train])
    represent = peer.encode if peer.binary else peer.project

    image, text = (represent(X[test], m) for m, X in views.items())

    assert nearest_is_right(image, text, labels[test], labels[test]) > 0.4


@pytest.mark.parametrize("factory", EVERY)
def test_every_peer_gives_the_bits_asked_for(factory, data):
    views, labels = data
    peer = factory(n_bits=BITS).fit(views, labels)

    projected = peer.project(views["text"][:7], "text")

    assert projected.shape == (7, BITS)
    if peer.binary:
        np.testing.assert_array_equal(unpack(peer.encode(views["text"][:7], "text"), BITS), projected >= 0)


@pytest.mark.parametrize("factory", EVERY)
def test_every_peer_is_reproducible_and_reads_sparse_views(factory, data):
    views, labels = data
    once = factory(n_bits=BITS).fit(views, labels).project(views["image"], "image")
    compressed = {"image": views["image"], "text": sparse.csr_array(views["text"])}

    again = factory(n_bits=BITS).fit(compressed, labels).project(views["image"], "image")

    np.testing.assert_allclose(once, again, atol=1e-8)


@pytest.mark.parametrize("factory", EVERY)
def test_every_peer_refuses_what_does_not_fit(factory, data):
    views, labels = data
    peer = factory(n_bits=BITS)

    with pytest.raises(NotFittedError, match="fit"):
        peer.project(views["text"], "text")
    with pytest.raises(InputError, match="two views"):
        peer.fit({"image": views["image"]}, labels)
    with pytest.raises(InputError, match="one row per object"):
        peer.fit({"image": views["image"], "text": views["text"][1:]}, labels)
    with pytest.raises(InputError, match="labels of 120 rows"):
        peer.fit(views, labels[1:])
    with pytest.raises(InputError, match="NaN"):
        peer.fit({"image": views["image"], "text": np.full((120, 8), np.nan)}, labels)
    peer.fit(views, labels)
    with pytest.raises(UnknownModalityError, match="sound"):
        peer.project(views["text"], "sound")
    with pytest.raises(FeatureCountError, match="8 features"):
        peer.encode(views["text"][:, :3], "text") if peer.binary else peer.project(
            views["text"][:, :3], "text"
        )


@pytest.mark.parametrize("factory", PEERS)
def test_every_peer_is_tuned_over_six_settings(factory):
    """The same effort for all. Peers of one embedding space have nothing to tune but the centring."""
    assert prod(len(values) for values in factory.grid.values()) == 6


def test_raw_signs_are_the_signs_of_the_centred_embedding(data):
    views, _ = data
    centred = views["text"] - views["text"].mean(axis=0)

    np.testing.assert_array_equal(RawSigns(8).fit(views).project(views["text"], "text") >= 0, centred >= 0)
    plain = RawSigns(8, centre="none").fit(views)
    np.testing.assert_array_equal(plain.project(views["text"], "text"), views["text"])


def test_a_random_rotation_keeps_lengths_and_serves_any_number_of_bits(data):
    views, _ = data
    whole = RotatedSigns(8, centre="none").fit(views).project(views["text"], "text")
    more = RotatedSigns(20, centre="none").fit(views).project(views["text"], "text")

    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), np.linalg.norm(views["text"], axis=1))
    np.testing.assert_allclose(more[:, :8], whole)
    assert np.linalg.matrix_rank(more) == 8


def test_raw_signs_need_one_embedding_space(data):
    views, _ = data
    with pytest.raises(InputError, match="8 and 7 features"):
        RawSigns(4).fit({"image": views["image"], "text": views["text"][:, :7]})
    with pytest.raises(TooManyBitsError, match="at most 8"):
        RawSigns(9).fit(views)
    with pytest.raises(InputError, match="'joint'"):
        RawSigns(4, centre="joint").fit(views)


def test_tuning_takes_the_best_setting_and_refits_on_all_rows(data):
    """A score that is highest for one known setting."""
    views, labels = data
    result = tune(CCAITQ, views, labels, n_bits=4, score=nearest_is_right)

    assert len(result.trials) == 6
    assert max(score for _, score in result.trials) == dict_score(result.trials, result.setting)
    direct = CCAITQ(4, **result.setting).fit(views, labels)
    np.testing.assert_array_equal(
        direct.encode(views["text"], "text"), result.peer.encode(views["text"], "text")
    )


def dict_score(trials, setting):
    return next(score for tried, score in trials if tried == setting)


def test_tuning_never_scores_rows_it_was_fitted_on(data):
    """Without labels the score gets row numbers: 24 of 120, the same for every setting."""
    views, _ = data
    seen = []

    def score(queries, database, query_rows, database_rows):
        seen.append(query_rows)
        assert len(queries) == len(database) == len(query_rows) == 24
        return nearest_is_right(queries, database, query_rows, database_rows)

    class Recorder(CCAITQ):
        def fit(self, views, labels=None):
            fitted.append(len(views["image"]))
            return super().fit(views, labels)

    fitted = []
    result = tune(Recorder, views, None, n_bits=4, score=score, grid={"ridge": [0.1, 1.0]})

    assert fitted == [96, 96, 120]
    assert len(seen) == 4
    assert all(np.array_equal(rows, seen[0]) for rows in seen)
    assert result.setting in ({"ridge": 0.1}, {"ridge": 1.0})


def test_tuning_needs_rows_to_validate_on(data):
    views, labels = data
    few = {m: X[:3] for m, X in views.items()}
    with pytest.raises(InputError, match="3 rows"):
        tune(CCAITQ, few, labels[:3], n_bits=2, score=nearest_is_right)
