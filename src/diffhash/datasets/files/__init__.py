"""Readers for the usual feature files of cross-modal hashing. You give the path; nothing is downloaded."""

from .embeddings import load_embeddings
from .flickr import load_coco, load_mirflickr, load_nuswide
from .nuswide_features import load_nuswide_features
from .presplit_file import load_split
from .wiki import load_wiki

__all__ = [
    "load_coco",
    "load_embeddings",
    "load_mirflickr",
    "load_nuswide",
    "load_nuswide_features",
    "load_split",
    "load_wiki",
]
