"""The slow, obvious versions: a full distance matrix and Python's own sort."""

from __future__ import annotations

import numpy as np


def distances(queries, codes):
    bits_q = np.unpackbits(queries, axis=1).astype(np.int64)
    bits_c = np.unpackbits(codes, axis=1).astype(np.int64)
    return (bits_q[:, None, :] != bits_c[None, :, :]).sum(axis=2)


def ranked(queries, codes, ids=None, allowed=None):
    """Per query: (distance, id) of all allowed rows, in order."""
    table = distances(queries, codes)
    ids = range(len(codes)) if ids is None else ids
    rows = [r for r in range(len(codes)) if allowed is None or allowed[r]]
    return [sorted((int(table[q, r]), int(ids[r])) for r in rows) for q in range(len(queries))]


def distance_table(queries, codes, relevant, n_bits):
    """``relevant`` is boolean of shape (q, n)."""
    table = np.zeros((len(queries), n_bits + 1, 2), dtype=np.int64)
    matrix = distances(queries, codes)
    for q in range(len(queries)):
        for r in range(len(codes)):
            table[q, matrix[q, r], int(relevant[q, r])] += 1
    return table
