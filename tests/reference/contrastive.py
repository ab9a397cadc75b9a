"""The softmax loss over pairs and the share of partners that are found early, pair by pair."""

from __future__ import annotations

import math


def softmax_loss(codes, couples, contrast):
    """The loss with loops; all pairs of a couple are in one block."""
    mean = sum(couple.weight for couple in couples) / len(couples)
    total = 0.0
    for couple in couples:
        u, v = couple.sides
        i, j = (side.tolist() for side in couple.pairs.positive)
        weights = couple.pairs.positive_weights
        weights = [1.0] * len(i) if weights is None else weights.tolist()

        def similarity(a, b, u=u, v=v):
            n_bits = len(codes[u][a])
            return (
                contrast
                / math.sqrt(n_bits)
                * sum(x * y for x, y in zip(codes[u][a], codes[v][b], strict=True))
            )

        positive = set(zip(i, j, strict=True)) | (set(zip(j, i, strict=True)) if u == v else set())

        def left_out(a, b, i=i, j=j, within=u == v, positive=positive):
            """Whether row i[a] is not compared with row j[b]."""
            if a == b:
                return False
            return (i[a], j[b]) in positive or (within and (i[a] == j[b] or j[a] == i[b]))

        for a, weight in enumerate(weights):
            own = similarity(i[a], j[a])
            ways = (
                (similarity(i[a], j[b]) - own for b in range(len(i)) if not left_out(a, b)),
                (similarity(i[b], j[a]) - own for b in range(len(i)) if not left_out(b, a)),
            )
            loss = sum(math.log(sum(map(math.exp, way))) for way in ways)
            total += couple.weight / mean * weight / sum(weights) * loss
    return total


def found_early(distances, partners, first):
    """Mean over queries of the share of partners among the first items, for ties the expected share."""
    shares = []
    for row, own in zip(distances, partners, strict=True):
        if not own:
            continue
        hits = 0.0
        for item in own:
            nearer = sum(d < row[item] for d in row)
            equal = sum(d == row[item] for d in row)
            hits += min(max((first - nearer) / equal, 0.0), 1.0)
        shares.append(hits / len(own))
    return sum(shares) / len(shares)
