"""Settings of the workflows, their checks, and the error for wrong settings."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from ..errors import ParameterError

__all__ = [
    "MAX_BITS",
    "SAMPLE",
    "THUMBNAIL",
    "FileName",
    "FileNames",
    "LearningOptions",
    "MethodName",
    "OptionError",
    "PairFileNames",
    "PairFiles",
    "PictureKind",
    "Ranking",
    "check_count",
    "check_files",
    "check_type",
    "files_by_modality",
]

#: As ``diffhash.native``, which takes too long to import for ``--help``.
MAX_BITS = 4096
#: A path; ``"x.npz#name"`` names a part of the file.
FileName: TypeAlias = str | os.PathLike[str]
#: Field of a payload that holds a thumbnail.
THUMBNAIL = "thumbnail"
#: Objects (or listed pairs) that a build, and a fit with a method that needs them in memory, learns from at most.
SAMPLE = 50_000
#: One file for all modalities, or files by modality.
FileNames: TypeAlias = FileName | Mapping[str, FileName]
#: A file of pairs, or files by couple of modalities.
PairFileNames: TypeAlias = FileName | Mapping[tuple[str, ...], FileName]


class OptionError(ParameterError):
    """A workflow was called with arguments that do not go together, before anything was read or written.

    Messages have the names of parameters in backquotes; the command line writes options there.
    """


class MethodName(StrEnum):
    """Short names of the methods."""

    refined = "refined"
    diff = "diff"
    kernel = "kernel"
    boosted = "boosted"


class PictureKind(StrEnum):
    """Kinds of pictures, which have different built-in features."""

    photo = "photo"
    drawing = "drawing"


class Ranking(StrEnum):
    """Orders of the hits of a search."""

    auto = "auto"
    hamming = "hamming"
    asymmetric = "asymmetric"


@dataclass(frozen=True)
class PairFiles:
    """Files that say which rows belong together.

    At most one of ``pairs``, ``labels`` and ``aligned`` is given. Without any, rows with the same id belong
    together if all views have ``ids``; it is an error if no id occurs in two of them. Otherwise rows of views with
    equal numbers of rows are aligned.

    Attributes
    ----------
    pairs : file, or files by couple, optional
        Table of two columns: row numbers from 0, or ids if ``ids`` are given. With more than two views, the
        columns are named after two of them, or there is a file for each couple: ``{("image", "text"): file}``.
    negatives : file, or files by couple, optional
        Table of pairs that do not belong together. By default every other pair.
    labels : file, or files by modality, optional
        Rows with the same label belong together.
    ids : file, or files by modality, optional
        Ids of the rows. An object may lack a modality, and have several rows in one.
    aligned : bool
        Row r of every view is one object.

    Examples
    --------
    >>> PairFiles(labels="rows.csv#class").names()
    ['rows.csv#class']
    """

    pairs: PairFileNames | None = None
    negatives: PairFileNames | None = None
    labels: FileNames | None = None
    ids: FileNames | None = None
    aligned: bool = False

    def names(self) -> list[FileName]:
        """All files that are given."""
        found: list[FileName] = []
        for names in (self.pairs, self.negatives, self.labels, self.ids):
            if names is not None:
                found += names.values() if isinstance(names, Mapping) else [names]
        return found


@dataclass(frozen=True)
class LearningOptions:
    """How a model is learned.

    Attributes
    ----------
    method : MethodName or its value
    n_bits : int
    sample : int, optional
        Learn from at most this many objects (or listed pairs), drawn at random; 0 for all. None is
        the default: all for ``fit`` with the methods "diff" and "kernel", otherwise 50,000.
    seed : int
        Seed of everything that is random.
    settings : dict
        Other parameters of the method, such as ``{"n_landmarks": 500}``.
    calibrate : bool, optional
        Fit a second time without a fifth of the objects, for fused codes, and for chances and promises of searches.
        By default this is done if there are enough objects; with True it is an error if there are not.

    Raises
    ------
    OptionError
        If a value is not allowed.

    Examples
    --------
    >>> LearningOptions(method="diff", n_bits=32).sample_size(20_000)
    20000
    """

    method: MethodName | str = MethodName.refined
    n_bits: int = 64
    sample: int | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    calibrate: bool | None = None

    def __post_init__(self) -> None:
        if self.method not in list(MethodName):
            raise OptionError(f"`method` must be one of {', '.join(MethodName)}, got {self.method!r}")
        check_count(self.n_bits, "n_bits", minimum=1, maximum=MAX_BITS)
        if self.sample is not None:
            check_count(self.sample, "sample")
        check_count(self.seed, "seed")
        check_type(self.settings, "settings", Mapping)
        if self.calibrate is not None:
            check_type(self.calibrate, "calibrate", bool)

    def sample_size(self, default: int) -> int:
        """The sample, or the default of a workflow."""
        return default if self.sample is None else self.sample


def check_count(value: Any, option: str, *, minimum: int = 0, maximum: int | None = None) -> None:
    """Raise unless a value is a whole number that is not too small and, if ``maximum`` is given, not too large."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise OptionError(f"`{option}` must be a whole number of at least {minimum}, got {value!r:.60}")
    if maximum is not None and int(value) > maximum:
        raise OptionError(f"`{option}` must be at most {maximum:,}, got {value!r:.60}")


def check_type(value: Any, option: str, wanted: type) -> None:
    """Raise unless a value has the type."""
    if not isinstance(value, wanted):
        raise OptionError(f"`{option}` must be a {wanted.__name__}, got {type(value).__name__}")


def check_files(files: Any, option: str) -> None:
    """Raise unless a value is a dict of names of files by modality, with at least one."""
    if not isinstance(files, Mapping):
        raise OptionError(f"`{option}` must be a dict of files by modality, got {type(files).__name__}")
    if not files:
        raise OptionError(f"at least one file of `{option}` is needed")
    for name, file in files.items():
        if not isinstance(file, str | os.PathLike):
            raise OptionError(f"`{option}`: {name!r} must be the name of a file, got {type(file).__name__}")


def files_by_modality(files: FileNames | None, modalities: Sequence[str], option: str) -> dict[str, str]:
    """Names of files by modality; one file stands for all modalities.

    Examples
    --------
    >>> files_by_modality("l.csv#class", ["image", "text"], "labels")
    {'image': 'l.csv#class', 'text': 'l.csv#class'}
    """
    if files is None:
        return {}
    if not isinstance(files, Mapping):
        check_files(dict.fromkeys(modalities, files), option)
        return dict.fromkeys(modalities, os.fspath(files))
    check_files(files, option)
    for name in files:
        if name not in modalities:
            raise OptionError(f"`{option}` names {name!r}, which is not one of {', '.join(modalities)}")
    return {name: os.fspath(file) for name, file in files.items()}
