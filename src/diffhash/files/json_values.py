"""Convert Arrow columns to values that JSON can represent."""

from __future__ import annotations

import datetime
import math
from typing import Any

from ..errors import InputFileError

__all__ = ["plain_values"]


def plain_values(column: Any, where: str, start: int) -> list[Any]:
    """Values of a column: NaN becomes None, dates and times become ISO strings.

    Parameters
    ----------
    column : pyarrow array
    where : str
        File and column, for error messages.
    start : int
        Row number of the first value in the file.

    Raises
    ------
    InputFileError
        If JSON cannot represent a value, such as bytes and decimal numbers, or Python cannot, such as
        dates after the year 9999.
    """
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind) and kind.unit == "ns":
        # Python's datetime has microseconds, not nanoseconds.
        column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except Exception as error:  # a date after the year 9999, an unknown time zone, text that is not UTF-8
        raise InputFileError(
            f"{where} contains a value of type {kind} from row {start} on that cannot be read ({error!s:.200}). "
            "Convert it to text or numbers, or remove the column."
        ) from error
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind) or pyarrow.types.is_string(kind):
        return values
    for row, value in enumerate(values):
        try:
            values[row] = _plain(value)
        except TypeError as error:
            raise InputFileError(
                f"{where} contains {error} in row {start + row}, which cannot be stored. "
                "Convert it to text or numbers, or remove the column."
            ) from None
    return values


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    raise TypeError(f"a value of type {type(value).__name__}")
