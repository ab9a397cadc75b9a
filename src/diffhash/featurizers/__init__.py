"""Simple built-in features, so that raw pictures and texts work with no other model."""

from .base import Featurizer
from .colour import colour_histograms
from .drawings import HogFeatures
from .image import hog, thumbnails
from .pictures import PictureFeatures
from .reading import read_pictures
from .text import TfidfFeatures

__all__ = [
    "Featurizer",
    "HogFeatures",
    "PictureFeatures",
    "TfidfFeatures",
    "colour_histograms",
    "hog",
    "read_pictures",
    "thumbnails",
]
