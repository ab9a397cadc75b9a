"""``diffhash fit``: feature files to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..files import open_features
from ..hashers.base import BaseHasher
from ..workflows.learning import learn, make_hasher
from ..workflows.names import MethodName, by_name, settings_of
from ..workflows.outputs import check_model
from ..workflows.relation import read_relation
from .options import (
    Aligned,
    AsJson,
    Bits,
    Debug,
    Ids,
    Labels,
    Method,
    Negatives,
    Overwrite,
    PairsFile,
    Sample,
    Seed,
    Settings,
    Views,
)
from .output import megabytes, print_facts, print_json

__all__ = ["describe_model", "fit", "modalities_line"]


def fit(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the model.")],
    view: Views = None,
    pairs: PairsFile = None,
    negatives: Negatives = None,
    labels: Labels = None,
    ids: Ids = None,
    aligned: Aligned = False,
    method: Method = MethodName.refined,
    bits: Bits = 64,
    sample: Sample = 100_000,
    seed: Seed = 0,
    settings: Settings = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Learn hash functions from feature files.

    Give one file for each modality and say which rows belong together.

    For example:

        diffhash fit --view image=imgs.npy --view text=txt.npy -o model.dhm

        diffhash fit --view a=a.npy --view b=b.npy --pairs pairs.csv -o ab.dhm

        diffhash fit --view a=d.npz#a --view b=d.npz#b --labels d.csv#class -o d.dhm
    """
    names = by_name(view, "--view")
    if not names:
        raise typer.BadParameter("at least one --view NAME=FILE is needed")
    inputs = [*(view or ()), *(labels or ()), *(ids or ())]
    check_model(out, overwrite, inputs + [name for name in (pairs, negatives) if name is not None])
    hasher = make_hasher(method, bits, seed, settings_of(settings))
    files = {name: open_features(source) for name, source in names.items()}
    views = {name: file.array() for name, file in files.items()}
    relation = read_relation(
        {name: len(array) for name, array in views.items()},
        pairs=pairs,
        negatives=negatives,
        labels=labels,
        ids=ids,
        aligned=aligned,
    )
    learned = learn(hasher, views, relation, sample=sample, seed=seed)
    learned.hasher.save(out)
    facts: dict[str, Any] = {
        "model": str(out),
        **describe_model(learned.hasher),
        "learned from": learned.learned_from,
        "seconds": round(learned.seconds, 2),
        "size": out.stat().st_size,
    }
    if as_json:
        print_json(facts)
    else:
        print_facts(
            {
                **facts,
                "modalities": modalities_line(facts["modalities"]),
                "seconds": f"{learned.seconds:.2f}",
                "size": megabytes(facts["size"]),
            }
        )


def describe_model(hasher: BaseHasher) -> dict[str, Any]:
    """What a model is, in plain values."""
    featurizers = hasher.featurizers_
    return {
        "method": type(hasher).__name__,
        "bits": int(hasher.n_bits),
        "modalities": [
            {"name": name, "features": n, "raw": featurizers[name].kind if name in featurizers else None}
            for name, n in hasher.n_features_in_.items()
        ],
    }


def modalities_line(modalities: list[dict[str, Any]]) -> str:
    """The modalities of a model on one line.

    Examples
    --------
    >>> modalities_line([{"name": "text", "features": 1200, "raw": "tfidf"}])
    'text (1,200 features, tfidf)'
    """
    return ", ".join(
        f"{m['name']} ({m['features']:,} features{', ' + m['raw'] if m['raw'] else ''})" for m in modalities
    )
