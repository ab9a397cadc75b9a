"""Read named arrays from ``.npy``, ``.npz``, MATLAB ``.mat`` (both formats) and HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, MissingExtraError
from ...input_files import parsing, reading

__all__ = ["HDF5_ENDINGS", "SINGLE", "ArrayFile", "existing_path"]

#: The array of an ``.npy`` file has no name; this stands for it.
SINGLE = ""
#: Endings of HDF5 files.
HDF5_ENDINGS = (".h5", ".hdf5", ".h5py", ".he5")


def existing_path(path: Any, caller: str) -> Path:
    """Return the path; raise :class:`InputError` if it does not exist."""
    found = Path(path)
    with reading(found, InputError, who=f"{caller}: "):
        if not found.exists():
            raise InputError(f"{caller}: {found} does not exist.")
    return found


class ArrayFile(Mapping[str, Any]):
    """The arrays of a file by name. Each is read when it is used; no code in the file is ever run.

    Parameters
    ----------
    path : path
        The ending decides the format. For ``.mat`` the content decides too: files of version 7.3 are HDF5.
    caller : str
        Name of the calling function, for error messages.

    Notes
    -----
    MATLAB stores the last dimension first. Arrays of a 7.3 file are therefore transposed, so that they
    have the shape that MATLAB shows.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.npz"
    >>> np.savez(path, a=np.zeros((2, 3)), b=np.ones(4))
    >>> file = ArrayFile(path, caller="example")
    >>> sorted(file), file["a"].shape
    (['a', 'b'], (2, 3))
    """

    def __init__(self, path: Any, *, caller: str) -> None:
        self.path, self.caller = existing_path(path, caller), caller
        with self._errors_name_the_file():
            self._kind = self._recognise()
            self._names = self._list()

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        with self._errors_name_the_file():
            array = self._read(name)
        kind = array.dtype.kind if hasattr(array, "dtype") else "O"
        if kind not in "fiub":
            raise InputError(
                f"{self.caller}: {name!r} of {self.path} must be a numeric array, got dtype "
                f"{getattr(array, 'dtype', type(array).__name__)}."
            )
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def first_of(self, *names: str) -> Any:
        """Return the array with the first of these names that the file has."""
        for name in names:
            if name in self._names:
                return self[name]
        raise InputError(
            f"{self.caller}: {self.path} must have one of the arrays {', '.join(names)}; "
            f"it has {', '.join(self._names) or 'none'}."
        )

    def _errors_name_the_file(self) -> AbstractContextManager[None]:
        """Turn any exception of NumPy, SciPy or h5py on a damaged file into an error that names the file."""
        return parsing(self.path, InputError, who=f"{self.caller}: ")

    def _recognise(self) -> str:
        ending = self.path.suffix.lower()
        if ending in (".npy", ".npz"):
            return ending
        if ending in HDF5_ENDINGS:
            return "hdf5"
        if ending == ".mat":
            with self.path.open("rb") as file:
                head = file.read(128)
            return "mat73" if head.startswith(b"MATLAB 7.3") or head.startswith(b"\x89HDF") else "mat"
        raise InputError(
            f"{self.caller}: {self.path} must be a .npy, .npz, .mat, .h5 or .hdf5 file, got {ending or 'no ending'!r}."
        )

    def _list(self) -> list[str]:
        if self._kind == ".npy":
            self._read(SINGLE)  # checks that it can be read; memory-mapped, so no values are loaded
            return [SINGLE]
        if self._kind == ".npz":
            # Open the file here: NumPy does not close it if it is not an archive.
            with self.path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return list(file.files)
        if self._kind == "mat":
            from scipy.io import whosmat

            return [name for name, _, _ in whosmat(self.path)]
        with self._hdf5() as file:
            # Names that begin with # are internal to MATLAB.
            return [name for name in file if hasattr(file[name], "dtype") and not name.startswith("#")]

    def _read(self, name: str) -> Any:
        if self._kind == ".npy":
            return np.load(self.path, mmap_mode="r", allow_pickle=False)
        if self._kind == ".npz":
            with self.path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return file[name]
        if self._kind == "mat":
            from scipy.io import loadmat

            return loadmat(self.path, variable_names=[name])[name]
        with self._hdf5() as file:
            array = file[name][()]
        return array.T if self._kind == "mat73" else array

    def _hdf5(self) -> Any:
        try:
            import h5py  # type: ignore[import-untyped]  # no stubs
        except ImportError as error:
            raise MissingExtraError(
                f"{self.caller}: {self.path} is HDF5, which needs h5py ({error}). Run: pip install 'diffhash[hdf5]'"
            ) from error
        return h5py.File(self.path, "r")
