"""Simple built-in features for raw pictures and texts; no other model is needed."""

from .base import Featurizer
from .colour_features import colour_histograms
from .drawing_features import DrawingFeatures
from .grey_features import hog, thumbnails
from .hog_features import HogFeatures
from .picture_features import PictureFeatures
from .picture_reading import read_pictures
from .text_features import TfidfFeatures

__all__ = [
    "DrawingFeatures",
    "Featurizer",
    "HogFeatures",
    "PictureFeatures",
    "TfidfFeatures",
    "colour_histograms",
    "hog",
    "read_pictures",
    "thumbnails",
]
