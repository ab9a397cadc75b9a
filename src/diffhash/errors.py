"""Every error and warning that diffhash raises.

All errors derive from :class:`DiffhashError`; those about bad values are also
:class:`ValueError`, so that code which knows nothing of diffhash can catch them.
When one is raised, nothing was changed and no file was half-written.
"""

from __future__ import annotations

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

__all__ = [
    "CodeError",
    "ConvergenceWarning",
    "DiffhashError",
    "DiffhashWarning",
    "FeatureCountError",
    "InputError",
    "InputFileError",
    "MissingExtraError",
    "ModelFileError",
    "NewerFormatError",
    "NonFiniteError",
    "NotFittedError",
    "PairsError",
    "ParameterError",
    "RankWarning",
    "TooManyBitsError",
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


class TooManyBitsError(ParameterError):
    """More bits were asked for than the method can give on these features."""


class NotFittedError(DiffhashError, _SklearnNotFittedError):
    """The hasher was used before ``fit``."""


class MissingExtraError(DiffhashError, ImportError):
    """A package of an optional extra is not installed; the message has the install line."""


class ModelFileError(DiffhashError, ValueError):
    """A file is not a model of diffhash, or it is damaged."""


class NewerFormatError(ModelFileError):
    """A model file was written by a later version of diffhash."""


class InputFileError(InputError):
    """A file with features, tables, pairs or labels cannot be read as such."""


class DiffhashWarning(UserWarning):
    """Base of all warnings of this package."""


class ConvergenceWarning(DiffhashWarning):
    """An optimisation was cut off while it was still gaining."""


class RankWarning(DiffhashWarning):
    """More bits were asked for than the pairs can determine."""
