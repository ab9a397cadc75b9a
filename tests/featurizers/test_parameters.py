"""Featurizers behave as scikit-learn estimators, although they do not derive from its classes."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline

from diffhash.errors import ParameterError
from diffhash.featurizers import DrawingFeatures, HogFeatures, PictureFeatures, TfidfFeatures

TEXTS = ["LATIN SMALL LETTER A", "LATIN CAPITAL LETTER A", "BLACK STAR", "WHITE STAR STAR"]
FEATURIZERS = [
    TfidfFeatures(min_count=2, char_ngrams=(1, 2)),
    HogFeatures(cells=4, signed=True),
    PictureFeatures(hues=5),
    DrawingFeatures(pen=0.1),
]


@pytest.mark.parametrize("featurizer", FEATURIZERS)
def test_a_clone_has_the_same_parameters(featurizer):
    copied = clone(featurizer)

    assert copied is not featurizer
    assert type(copied) is type(featurizer)
    assert copied.get_params() == featurizer.get_params()


@pytest.mark.parametrize("featurizer", FEATURIZERS)
def test_parameters_are_listed_in_alphabetical_order(featurizer):
    """The order is part of a model file."""
    assert list(featurizer.get_params()) == sorted(featurizer.get_params())


def test_only_changed_parameters_are_shown():
    assert repr(TfidfFeatures()) == "TfidfFeatures()"
    assert repr(HogFeatures(signed=True, cells=4)) == "HogFeatures(cells=4, signed=True)"


def test_unknown_parameters_are_refused_and_nothing_is_set():
    features = TfidfFeatures()

    with pytest.raises(
        ParameterError, match=r"unknown parameter 'colour'.*char_ngrams, char_weight, min_count"
    ):
        features.set_params(min_count=3, colour="red")

    assert features.min_count == 1
    assert features.set_params(min_count=3) is features
    assert features.min_count == 3


def test_text_features_work_in_a_pipeline():
    pipeline = make_pipeline(TfidfFeatures(), TruncatedSVD(2, random_state=0))

    reduced = pipeline.fit_transform(TEXTS)

    assert reduced.shape == (4, 2)
    np.testing.assert_allclose(pipeline.transform(TEXTS), reduced, atol=1e-6)
    assert "TfidfFeatures" in repr(pipeline)
    assert "TfidfFeatures" in pipeline._repr_html_()
    nested = clone(pipeline).set_params(tfidffeatures__min_count=2)
    assert nested.get_params()["tfidffeatures__min_count"] == 2


@pytest.mark.parametrize("setting", [{"enable_metadata_routing": True}, {"display": "text"}])
def test_pipelines_work_under_scikit_learns_settings(setting):
    with sklearn.config_context(**setting):
        assert make_pipeline(TfidfFeatures(), TruncatedSVD(2)).fit_transform(TEXTS).shape == (4, 2)
        pictures = np.random.default_rng(0).random((5, 16, 16))
        assert make_pipeline(HogFeatures(), PCA(2)).fit_transform(pictures).shape == (5, 2)


@pytest.mark.parametrize("featurizer", FEATURIZERS)
def test_tags_are_scikit_learns(featurizer):
    from sklearn.base import BaseEstimator
    from sklearn.utils import get_tags

    assert get_tags(featurizer) == get_tags(BaseEstimator())


def test_a_fitted_featurizer_survives_pickle():
    fitted = TfidfFeatures(char_ngrams=(2, 3)).fit(TEXTS)

    again = pickle.loads(pickle.dumps(fitted))

    assert (again.transform(TEXTS) != fitted.transform(TEXTS)).nnz == 0
