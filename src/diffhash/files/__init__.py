"""Input files: features, tables, pairs and labels, read in blocks.

``.npy``, ``.npz``, ``.parquet``, ``.csv`` and ``.jsonl`` files are opened in the same way. A ``#`` after
the name of the file selects a part of it: an array of an ``.npz`` file, a column of a table.
"""

from .arrays import load_array, read_header
from .codes_file import CODES_FILE, IDS_FILE, CodesWriter, is_codes_file, read_codes
from .encode_features import encode_file
from .features import FeatureFile, open_features
from .pairs_and_labels import read_ids, read_labels, read_pairs
from .pictures import list_pictures
from .source import FILE_KINDS, Source
from .tables import TABLE_KINDS, TableFile, open_table

__all__ = [
    "CODES_FILE",
    "FILE_KINDS",
    "IDS_FILE",
    "TABLE_KINDS",
    "CodesWriter",
    "FeatureFile",
    "Source",
    "TableFile",
    "encode_file",
    "is_codes_file",
    "list_pictures",
    "load_array",
    "open_features",
    "open_table",
    "read_codes",
    "read_header",
    "read_ids",
    "read_labels",
    "read_pairs",
]
