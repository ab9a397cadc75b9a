"""Messages of the workflows, in which parameters become options of the command line."""

from __future__ import annotations

import re

__all__ = ["InterruptedRunError", "with_option_names"]


class InterruptedRunError(Exception):
    """A command was interrupted; the message says what was kept and how to continue."""


#: Parameters whose options have other names, or that are arguments.
_OTHER_NAMES = {
    "k": "-k",
    "featurizers": "--featurizer",
    "learning": "--method, --bits, --set, --sample and --seed",
    "model": "MODEL",
    "n_bits": "--bits",
    "pair_files": "--pairs, --labels and --ids",
    "payloads": "--payload",
    "settings": "--set",
    "text": "TEXT",
    "view": "--view",
    "views": "--view",
}
_SAME_NAMES = (
    "aligned calibrate caption_column codes encodes_as encoding file_column format fused ids image images into item "
    "kind labels method metric modality negatives out overwrite pairs queries replace resume sample scheduler seed "
    "skip test vector words"
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAMES.split()} | _OTHER_NAMES


def with_option_names(message: str) -> str:
    """Replace names of parameters in backquotes by the options of the command line.

    Examples
    --------
    >>> with_option_names("Give `pairs`, or say `file_column`")
    'Give --pairs, or say --file-column'
    """
    return re.sub(r"`([a-z_]+)`", lambda match: _OPTIONS.get(match[1], match[0]), message)
