"""Raw pictures and texts to features: simple ones that need no other model, and models in local files."""

from .base import Featurizer
from .colour_features import colour_histograms
from .drawing_features import DrawingFeatures
from .grey_features import hog, thumbnails
from .hog_features import HogFeatures
from .named import load_featurizer
from .onnx_pictures import OnnxPictures
from .onnx_texts import OnnxTexts
from .picture_features import PictureFeatures
from .picture_reading import read_pictures
from .text_features import TfidfFeatures

__all__ = [
    "DrawingFeatures",
    "Featurizer",
    "HogFeatures",
    "OnnxPictures",
    "OnnxTexts",
    "PictureFeatures",
    "TfidfFeatures",
    "colour_histograms",
    "hog",
    "load_featurizer",
    "read_pictures",
    "thumbnails",
]
