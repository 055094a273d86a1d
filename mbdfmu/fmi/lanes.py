"""Values of a loaded FMU that pass in arrays which stay, for masters that step often; must not know what they mean.

fmpy's own calls make lists; these hand one array to the FMU, without a copy where it holds doubles.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mbdfmu.fmi.calls import OK, WARNING
from mbdfmu.fmi.instance import Calls
from mbdfmu.fmi.reading import FmuVariable

_C = {
    "Real": ctypes.c_double, "Integer": ctypes.c_int, "Enumeration": ctypes.c_int, "Boolean": ctypes.c_int,
    "Float64": ctypes.c_double, "Float32": ctypes.c_float,
    **{f"{u}Int{n}": getattr(ctypes, f"c_{u.lower()}int{n}") for u in ("", "U") for n in (8, 16, 32, 64)},
}  # fmt: skip
_C3 = {**_C, "Enumeration": ctypes.c_int64, "Boolean": ctypes.c_bool}


ROUNDED = 1e-9  # of a whole number, that products of factors may be off by


class Unfit(ValueError):
    """A value that the type of its variable does not hold."""


class Lane:
    """Variables of one type and their values; `values` may be a part of a larger array.

    `read` passes from the FMU into `values`, `write` from there to the FMU; both return its status.
    """

    def __init__(self, calls: Calls, variables: Sequence[FmuVariable], values: NDArray[np.float64]) -> None:
        kind = (_C if calls.version == 2 else _C3)[variables[0].type]
        sizes = {v.reference: v.size for v in variables}
        begins = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
        self.values, self._variables = values, variables
        self._places = [begins[v.reference] + v.element for v in variables]
        total = sum(sizes.values())
        direct = kind is ctypes.c_double and self._places == list(range(total))
        self._buffer = values if direct else np.zeros(total, dtype=np.dtype(kind))
        self._partial = total > len(variables)
        pointer = self._buffer.ctypes.data_as(ctypes.POINTER(kind))
        self._get = calls.access("Get", variables[0].type, list(sizes), pointer, total)
        self._set = calls.access("Set", variables[0].type, list(sizes), pointer, total)
        self.read, self.write = (self._get, self._set) if direct else (self._read, self._write)

    def _read(self) -> int:
        status = self._get()
        if status <= WARNING:
            self.values[:] = self._buffer[self._places]
        return status

    def _write(self) -> int:
        """Elements of arrays that are not among the variables stay as they are."""
        status = self._get() if self._partial else OK
        if status > WARNING:
            return status
        self._buffer[self._places] = self._whole() if self._buffer.dtype.kind in "iu" else self.values
        return self._set()

    def _whole(self) -> NDArray[np.float64]:
        """Unfit where a value is no whole number, or beyond the type's range, where it would become another one."""
        found = np.rint(self.values)
        limits = np.iinfo(self._buffer.dtype)
        fits = (np.abs(self.values - found) <= ROUNDED * np.abs(found)) & (found >= limits.min) & (found <= limits.max)
        if not fits.all():
            k = int(np.argmin(fits))
            raise Unfit(
                f"'{self._variables[k].name}' is {self._variables[k].type} and is given {self.values[k]:.10g}; whole "
                f"numbers in {limits.min} .. {limits.max} are allowed: look at the factor or the source of its coupling"
            )
        return found


def lanes(calls: Calls, variables: Sequence[FmuVariable], values: NDArray[np.float64]) -> list[Lane]:
    """One lane for each run of variables of one type; `values` holds theirs in the same order."""
    found, begin = [], 0
    for end in range(1, len(variables) + 1):
        if end == len(variables) or variables[end].type != variables[begin].type:
            found.append(Lane(calls, variables[begin:end], values[begin:end]))
            begin = end
    return found
