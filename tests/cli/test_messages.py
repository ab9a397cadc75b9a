"""Messages of the workflows name parameters; the command line shows its options in their place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from diffhash import workflows
from diffhash.cli.messages import with_option_names

FOLDER = Path(workflows.__file__).parent


def texts_of_errors():
    """Texts in ``raise`` statements of the workflows."""
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))


def test_every_parameter_in_a_message_has_an_option():
    named = {name for text in texts_of_errors() for name in re.findall(r"`(\w+)`", str(text))}

    assert {"labels", "overwrite", "modality", "views"} <= named
    assert not [name for name in named if "`" in with_option_names(f"`{name}`")]


def test_no_message_of_the_workflows_names_an_option_itself():
    assert not [text for text in texts_of_errors() if re.search(r"(?<!\w)--[a-z]", str(text))]


def test_other_text_in_backquotes_stays():
    assert with_option_names("the file `mine.npy` and `rm -rf`") == "the file `mine.npy` and `rm -rf`"
