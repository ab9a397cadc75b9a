"""The attack: hostile files and calls, kills and power cuts, with seeds. ``python -m tests.attack --help``."""
