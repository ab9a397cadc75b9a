"""Input files: features, tables, pairs and labels, read in blocks.

``.npy``, ``.npz``, ``.parquet``, ``.csv`` and ``.jsonl`` files are opened in the same way. A ``#`` after
the name of the file selects a part of it: an array of an ``.npz`` file, a column of a table.
"""

from .codes_file import CodesWriter, read_codes
from .encoding import encode_file
from .features import FeatureFile, open_features
from .pictures import list_pictures
from .relations import read_ids, read_labels, read_pairs
from .source import FILE_KINDS, Source
from .tables import TableFile, open_table

__all__ = [
    "FILE_KINDS",
    "CodesWriter",
    "FeatureFile",
    "Source",
    "TableFile",
    "encode_file",
    "list_pictures",
    "open_features",
    "open_table",
    "read_codes",
    "read_ids",
    "read_labels",
    "read_pairs",
]
