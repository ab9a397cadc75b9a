"""Parameters of an object as scikit-learn reads and sets them, without scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from .errors import ParameterError

__all__ = ["ParametersMixin"]


class ParametersMixin:
    """Gives a class ``get_params``, ``set_params`` and a short ``repr``.

    The parameters are the arguments of ``__init__``, which must store each of them unchanged under its own name.
    Objects work with ``sklearn.base.clone`` and in pipelines, but scikit-learn is not imported unless it asks for
    the tags of an object.

    Examples
    --------
    >>> class Threshold(ParametersMixin):
    ...     def __init__(self, *, level=0.5, strict=False):
    ...         self.level, self.strict = level, strict
    >>> Threshold(level=0.7)
    Threshold(level=0.7)
    >>> Threshold().set_params(strict=True).get_params()
    {'level': 0.5, 'strict': True}
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """Return the parameters by name, in alphabetical order.

        ``deep`` has no effect: no parameter has parameters of its own.
        """
        return {name: getattr(self, name) for name in _defaults(type(self))}

    def set_params(self, **parameters: Any) -> Self:
        """Set some parameters and return the object itself.

        Raises
        ------
        ParameterError
            If there is no parameter with one of these names. Nothing is set then.
        """
        known = _defaults(type(self))
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ParameterError(
                f"{type(self).__name__}.set_params: unknown parameter {', '.join(map(repr, unknown))}. "
                f"The parameters are {', '.join(known)}."
            )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the class with the parameters that differ from their defaults."""
        defaults = _defaults(type(self))
        values = self.get_params().items()
        changed = (f"{name}={value!r}" for name, value in values if repr(value) != repr(defaults[name]))
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's default tags, as its ``BaseEstimator`` does."""
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


def _defaults(cls: type) -> dict[str, Any]:
    """Default of each parameter of ``cls.__init__``, in alphabetical order of the names."""
    parameters = inspect.signature(cls).parameters
    return {name: parameters[name].default for name in sorted(parameters)}
