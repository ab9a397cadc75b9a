"""The same small files as for the commands."""

from tests.cli.conftest import files, photos, shapes

__all__ = ["files", "photos", "shapes"]
