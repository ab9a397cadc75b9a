"""The directive ``{command-options} NAME``: arguments, options and examples of a command, from the command itself.

A list that is written by hand would differ from ``diffhash NAME --help`` sooner or later.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


def command(name: str) -> Any:
    """A command of the command line; KeyError if there is none of this name."""
    import typer

    from diffhash.cli.app import app

    return typer.main.get_command(app).commands[name]


def groups(parameters: list[Any]) -> dict[str, list[tuple[str, str]]]:
    """Names and descriptions of the parameters by the heading under which ``--help`` shows them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        if getattr(parameter, "hidden", False):
            continue
        if parameter.param_type_name == "option":
            names = ", ".join([*parameter.opts, *parameter.secondary_opts])
            name = names if parameter.is_flag else f"{names} {_value(parameter)}"
            heading = parameter.rich_help_panel or "Options"
        else:
            name, heading = _value(parameter), "Arguments"
        found.setdefault(heading, []).append((name, _description(parameter)))
    return found


def _description(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split())
    default = getattr(parameter.default, "value", parameter.default)
    if parameter.required:
        return f"{text} Required."
    shown = isinstance(default, int | float | str) and not isinstance(default, bool) and default != ""
    return f"{text} Default: {default}." if shown and "Default:" not in text else text


def _value(parameter: Any) -> str:
    """What stands for the value in ``--help``: its own word, its choices, or its type."""
    if parameter.metavar:
        return str(parameter.metavar)
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(choice.value) for choice in annotation)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    return {int: "INTEGER", float: "FLOAT"}.get(annotation, "TEXT")  # type: ignore[arg-type]


class CommandOptions(Directive):
    """Write the options of a command as tables."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The first paragraph of the help text, and a table for each group of options."""
        found = command(self.arguments[0])
        first = (found.help or "").split("\n\n")[0]
        result: list[nodes.Node] = [_words(" ".join(first.split()))]
        for heading, described in groups(found.params).items():
            result += [nodes.rubric(text=heading), _table(described)]
        return result


def _table(described: list[tuple[str, str]]) -> nodes.table:
    group = nodes.tgroup("", cols=2)
    group += nodes.colspec(colwidth=35)
    group += nodes.colspec(colwidth=65)
    body = nodes.tbody()
    for name, text in described:
        row = nodes.row()
        names = nodes.paragraph()
        for word in name.split(" "):
            names += [nodes.literal(text=word.removesuffix(",")), nodes.Text(" ")]
        row += nodes.entry("", names)
        row += nodes.entry("", _words(text))
        body += row
    group += body
    return nodes.table("", group, classes=["options"])


def _words(text: str) -> nodes.paragraph:
    """The words of a help text, in which names of options are code: dashes would become typographic ones."""
    found = nodes.paragraph()
    for part in re.split(r"(--[a-z][a-z-]*)", text):
        found += nodes.literal(text=part) if part.startswith("--") else nodes.Text(part)
    return found


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
