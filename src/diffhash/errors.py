"""Every error and warning that diffhash raises.

All errors derive from :class:`DiffhashError`; those about bad values are also
:class:`ValueError`, so that code which knows nothing of diffhash can catch them.
When one is raised, nothing was changed and no file was half-written.
"""

from __future__ import annotations

__all__ = [
    "CodeError",
    "CollectionBusyError",
    "CollectionError",
    "CollectionExistsError",
    "CollectionFileError",
    "CollectionNotFoundError",
    "CollectionWriteError",
    "ConvergenceWarning",
    "DiffhashError",
    "DiffhashWarning",
    "FeatureCountError",
    "FilterError",
    "IndexFileError",
    "InputError",
    "InputFileError",
    "MissingExtraError",
    "ModelFileError",
    "NewerCollectionError",
    "NewerFormatError",
    "NonFiniteError",
    "NotFittedError",
    "PairsError",
    "ParameterError",
    "PositionalArgumentError",
    "RankWarning",
    "ReadOnlyCollectionError",
    "TooManyBitsError",
    "UnknownIdError",
    "UnknownModalityError",
]


class DiffhashError(Exception):
    """Base of all errors of this package."""


class InputError(DiffhashError, ValueError):
    """An array has the wrong shape, type or content."""


class NonFiniteError(InputError):
    """An array holds NaN or infinity."""


class FeatureCountError(InputError):
    """An array has another number of features than the model was fitted on."""


class UnknownModalityError(InputError):
    """A modality was named that the model or the views do not have."""


class PairsError(InputError):
    """Pairs are out of range, contradictory, or too few for the method."""


class CodeError(InputError):
    """Packed codes have the wrong type or width."""


class ParameterError(DiffhashError, ValueError):
    """A parameter has a value that the method cannot work with."""


class PositionalArgumentError(DiffhashError, TypeError):
    """An argument that must be named was given by position; the message shows the right call."""


class TooManyBitsError(ParameterError):
    """More bits were asked for than the method can give on these features."""


class NotFittedError(DiffhashError, ValueError, AttributeError):
    """A hasher or featurizer was used before ``fit``."""


class MissingExtraError(DiffhashError, ImportError):
    """A package of an optional extra is not installed; the message has the install line."""


class ModelFileError(DiffhashError, ValueError):
    """A file is not a model of diffhash, or it is damaged."""


class NewerFormatError(ModelFileError):
    """A model file was written by a later version of diffhash."""


class IndexFileError(DiffhashError, ValueError):
    """A file is not a saved index, is damaged, or was written by a later version of diffhash."""


class InputFileError(InputError):
    """A file with features, tables, pairs or labels cannot be read as such."""


class CollectionError(DiffhashError):
    """A collection cannot be used in this way; base of the errors below."""


class CollectionNotFoundError(CollectionError, FileNotFoundError):
    """There is no collection at this path, or no longer."""


class CollectionExistsError(CollectionError, FileExistsError):
    """A new collection would replace a file."""


class CollectionFileError(CollectionError, ValueError):
    """A file is no collection, is damaged, or was replaced while it was open."""


class NewerCollectionError(CollectionFileError, NewerFormatError):
    """A collection was written by a later version of diffhash."""


class CollectionBusyError(CollectionError):
    """Another process, or another object of this one, is writing to the collection."""


class ReadOnlyCollectionError(CollectionError):
    """The collection was opened for reading, or its folder cannot be written to."""


class CollectionWriteError(CollectionError, OSError):
    """The disk is full or failed; what was stored before is still there."""


class UnknownIdError(InputError):
    """An id was asked for that the index or the collection does not have."""


class FilterError(InputError):
    """A ``where`` filter is not of the form that filters have."""


class DiffhashWarning(UserWarning):
    """Base of all warnings of this package."""


class ConvergenceWarning(DiffhashWarning):
    """An optimisation was cut off while it was still gaining."""


class RankWarning(DiffhashWarning):
    """More bits were asked for than the pairs can determine."""
