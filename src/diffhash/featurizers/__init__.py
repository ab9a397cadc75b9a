"""Simple built-in features, so that raw pictures and texts work with no other model."""

from .image import HogFeatures, hog, thumbnails
from .text import TfidfFeatures

__all__ = ["HogFeatures", "TfidfFeatures", "hog", "thumbnails"]
