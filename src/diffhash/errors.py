"""All errors and warnings of diffhash.

All errors derive from :class:`DiffhashError`. Errors about bad values are also :class:`ValueError`,
so code that does not know diffhash can catch them. When an error is raised, nothing was changed and
no file is half-written.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "AddressError",
    "CalibrationError",
    "ClusterError",
    "CodeError",
    "CollectionBusyError",
    "CollectionError",
    "CollectionExistsError",
    "CollectionFileError",
    "CollectionNotFoundError",
    "CollectionWriteError",
    "DiffhashError",
    "DiffhashWarning",
    "FeatureCountError",
    "FeatureNamesError",
    "FeaturizerMismatchError",
    "FilterError",
    "IndexFileError",
    "IndexNotFoundError",
    "InputError",
    "InputFileError",
    "MissingExtraError",
    "ModelChangedError",
    "ModelFileError",
    "ModelNotFoundError",
    "NewerCollectionError",
    "NewerFormatError",
    "NoModelError",
    "NonFiniteError",
    "NotFittedError",
    "OutputFileError",
    "OutputFolderError",
    "PairsError",
    "ParameterError",
    "PositionalArgumentError",
    "RankWarning",
    "ReadOnlyCollectionError",
    "SampleWarning",
    "StoreAccessError",
    "StoreServerError",
    "StoreUnavailableError",
    "TooManyBitsError",
    "UnknownIdError",
    "UnknownModalityError",
    "UnreadablePicturesError",
    "UnsupportedCallError",
    "WeakModelWarning",
]


#: Pictures that a message names.
_MOST_SHOWN = 10


class DiffhashError(Exception):
    """Base class of all errors of this package."""


class InputError(DiffhashError, ValueError):
    """An array has the wrong shape, type or content."""


class NonFiniteError(InputError):
    """An array contains NaN or infinity."""


class FeatureCountError(InputError):
    """The number of features of an array differs from that of the fitted model."""


class FeatureNamesError(InputError):
    """A table has other columns than the one that the model was fitted on, or in another order."""


class UnknownModalityError(InputError):
    """The model or the views do not have a modality of this name."""


class PairsError(InputError):
    """Pairs are out of range, contradict each other, or are too few for the method."""


class CodeError(InputError):
    """Packed codes have the wrong type or width."""


class ParameterError(DiffhashError, ValueError):
    """A parameter has a value that is not allowed."""


class PositionalArgumentError(DiffhashError, TypeError):
    """An argument that must be named was given by position; the message shows the right call."""


class FeaturizerMismatchError(ParameterError):
    """A model was opened with another featurizer than the one that it was learned with."""


class TooManyBitsError(ParameterError):
    """More bits were requested than the method can compute from these features."""


class CalibrationError(DiffhashError, ValueError):
    """A promise about wrong hits was asked of a model that cannot make it: not calibrated, or from too few pairs."""


class NotFittedError(DiffhashError, ValueError, AttributeError):
    """A hasher or featurizer was used before ``fit``."""


class MissingExtraError(DiffhashError, ImportError):
    """A package of an optional extra is not installed; the message shows how to install it."""


class ClusterError(DiffhashError, RuntimeError):
    """A cluster cannot be reached, or it failed."""


class ModelFileError(DiffhashError, ValueError):
    """A file is not a diffhash model, or it is damaged."""


class ModelNotFoundError(ModelFileError, FileNotFoundError):
    """There is no model file at this path."""


class NewerFormatError(ModelFileError):
    """A model file was written by a later version of diffhash."""


class IndexFileError(DiffhashError, ValueError):
    """A file is not a saved index, is damaged, or was written by a later version of diffhash."""


class IndexNotFoundError(IndexFileError, FileNotFoundError):
    """There is no saved index at this path."""


class InputFileError(InputError):
    """A file with features, tables, pairs or labels cannot be read."""


class UnreadablePicturesError(InputFileError):
    """Some pictures cannot be read.

    Attributes
    ----------
    pictures : dict of str by name
        All of them, and why.
    """

    def __init__(self, pictures: Mapping[str, str]) -> None:
        self.pictures = dict(pictures)
        reasons = list(self.pictures.values())
        shown = " ".join(reasons[:_MOST_SHOWN])
        more = f" And {len(reasons) - _MOST_SHOWN:,} more." if len(reasons) > _MOST_SHOWN else ""
        count = "A picture" if len(reasons) == 1 else f"{len(reasons):,} pictures"
        super().__init__(f"{count} cannot be read. {shown}{more} Use `skip` to leave such pictures out.")


class OutputFileError(DiffhashError, OSError):
    """A file cannot be written: the disk refuses it, or a file of another kind is there, which is never replaced."""


class OutputFolderError(OutputFileError, FileNotFoundError):
    """A file cannot be written because its folder does not exist."""


class CollectionError(DiffhashError):
    """A collection cannot be used in this way; base class of the errors below."""


class CollectionNotFoundError(CollectionError, FileNotFoundError):
    """There is no collection at this path, or it was removed."""


class CollectionExistsError(CollectionError, FileExistsError):
    """A new collection would overwrite an existing file."""


class CollectionFileError(CollectionError, ValueError):
    """A file is not a collection, is damaged, or was replaced while it was open."""


class NewerCollectionError(CollectionFileError, NewerFormatError):
    """A collection was written by a later version of diffhash."""


class CollectionBusyError(CollectionError):
    """Another process, or another object in this process, is writing to the collection."""


class ReadOnlyCollectionError(CollectionError):
    """The collection was opened for reading, or its folder cannot be written to."""


class CollectionWriteError(CollectionError, OSError):
    """The disk is full or failed; everything that was stored before is still there."""


class NoModelError(CollectionError):
    """A collection that has codes and no model was asked for something that needs a model."""


class AddressError(ParameterError):
    """The address of a store cannot be read, or no engine is known for its scheme."""


class StoreUnavailableError(CollectionError, ConnectionError):
    """The server of a store cannot be reached, refuses the connection, or was lost during a call."""


class StoreServerError(CollectionError):
    """The server of a store cannot hold collections: it is too old, lacks an extension, or refuses a statement."""


class ModelChangedError(CollectionError):
    """The store has another model now than the one that made the codes of a request."""


class StoreAccessError(CollectionError, PermissionError):
    """The server of a store refuses the token, or the token does not allow this."""


class UnsupportedCallError(CollectionError, NotImplementedError):
    """The store cannot do this; ``store.capabilities`` tells before, and the message names stores that can."""


class UnknownIdError(InputError):
    """The index or the collection does not have an item with this id."""


class FilterError(InputError):
    """A ``where`` filter is not valid."""


class DiffhashWarning(UserWarning):
    """Base class of all warnings of this package."""


class WeakModelWarning(DiffhashWarning):
    """The codes find held-out objects hardly better than by chance."""


class SampleWarning(DiffhashWarning):
    """A method that needs its rows in memory learned from a sample of them."""


class RankWarning(DiffhashWarning):
    """More bits were requested than the pairs can determine."""
