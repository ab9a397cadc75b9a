"""``fit``: feature files become a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .feature_files import check_not_empty, naming_bad_rows
from .learn_blocks import are_large, learn_blocks, learns_in_blocks
from .learn_model import learn, make_hasher
from .model_files import describe_model
from .options import SAMPLE, FileName, LearningOptions, PairFiles, check_files, check_type
from .outputs import check_model_output
from .pair_files import read_pair_files
from .progress import Progress
from .results import FitResult
from .view_files import Featurizers, load_featurizers, open_views

__all__ = ["check_fit_options", "fit"]


def check_fit_options(
    views: Mapping[str, FileName], pair_files: PairFiles | None, learning: LearningOptions | None
) -> tuple[PairFiles, LearningOptions]:
    """The options of a fit, or their defaults; raise OptionError if one is of another type."""
    check_files(views, "views")
    pair_files = PairFiles() if pair_files is None else pair_files
    learning = LearningOptions() if learning is None else learning
    check_type(pair_files, "pair_files", PairFiles)
    check_type(learning, "learning", LearningOptions)
    return pair_files, learning


def fit(
    views: Mapping[str, FileName],
    out: FileName,
    *,
    pair_files: PairFiles | None = None,
    learning: LearningOptions | None = None,
    featurizers: Featurizers | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Learn a model from feature files and save it.

    Parameters
    ----------
    views : dict of feature files by modality
    out : file
        The new model (.dhm).
    pair_files : PairFiles, optional
        Which rows belong together. By default row r of every view is one object.
    learning : LearningOptions, optional
        By default from all rows with the methods "refined", "diff" and "kernel", which read large files in blocks;
        with "boosted", and with "refined" and more than 4,096 features, from at most 50,000 objects.
    featurizers : dict by modality, optional
        Featurizers of raw objects: objects, or names (:func:`~diffhash.featurizers.load_featurizer`). The file of such
        a modality may be a column of texts, or of names of pictures: ``captions.csv#caption``.
        They are kept with the model.
    overwrite : bool
        Replace an existing model.
    progress : function, optional
        Called with a :class:`Step`. An exception that it raises stops the work; nothing is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> np.save(folder / "x.npy", x)
    >>> np.save(folder / "y.npy", x[:, :4] + x[:, 4:])
    >>> views = {"x": folder / "x.npy", "y": folder / "y.npy"}
    >>> result = fit(views, folder / "model.dhm", learning=LearningOptions(method="diff", n_bits=4))
    >>> result.model.method, result.learned_from
    ('DiffHash', '200 aligned rows')
    """
    out = Path(out)
    pair_files, learning = check_fit_options(views, pair_files, learning)
    check_model_output(out, overwrite, [*views.values(), *pair_files.names()])
    hasher = make_hasher(learning)
    own = load_featurizers(featurizers, list(views))
    files = open_views(views, own, progress)
    in_blocks = learns_in_blocks(hasher, files)
    sample = learning.sample_size(0 if in_blocks else SAMPLE)
    # Calibration needs all rows in memory: in blocks it is left out, unless it was asked for.
    if not sample and not learning.calibrate and are_large(files) and in_blocks:
        with naming_bad_rows(files.values()):
            learned = learn_blocks(hasher, files, pair_files, progress=progress)
    else:
        arrays = {name: file.array() for name, file in files.items()}
        n_rows = {name: len(array) for name, array in arrays.items()}
        check_not_empty(files, n_rows)
        relation = read_pair_files(pair_files, n_rows)
        with naming_bad_rows(files.values()):
            learned = learn(
                hasher,
                arrays,
                relation,
                sample=sample,
                seed=learning.seed,
                calibrate=learning.calibrate,
                progress=progress,
            )
    model = learned.model.with_featurizers(own, caller="fit") if own else learned.model
    model.save(out)
    return FitResult(
        path=out,
        model=describe_model(model),
        learned_from=learned.learned_from,
        seconds=learned.seconds,
        size=out.stat().st_size,
        calibrated=learned.model.calibration is not None,
    )
