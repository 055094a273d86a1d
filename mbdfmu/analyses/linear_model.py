"""A linear model as a value: matrices with names, modes, responses, files; must not know where it comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

SUFFIXES = (".json", ".mat")
PICTURES = (".png", ".pdf", ".svg")
REAL = 1e-9  # of the modulus: an imaginary part that is rounding
POINTS = 400  # of a frequency response
DECADES = 1.0  # beyond the slowest and the fastest mode
_MATRICES = ("A", "B", "C", "D")
_NAMES = ("states", "inputs", "outputs", "state_units", "input_units", "output_units", "notes")


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One motion of a linear model: `eigenvalue` (1/s), for a conjugate pair that above the real axis."""

    eigenvalue: complex
    shape: Mapping[str, complex] = field(repr=False)  # by state; the largest of `moves` is 1
    moves: Mapping[str, complex] = field(repr=False)  # the same without velocities

    @property
    def oscillates(self) -> bool:
        """Whether it is a conjugate pair."""
        return self.eigenvalue.imag > 0

    @property
    def frequency(self) -> float:
        """Undamped, Hz: |eigenvalue|/(2 pi)."""
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damped_frequency(self) -> float:
        """Of the oscillation that is seen, Hz."""
        return self.eigenvalue.imag / (2 * np.pi)

    @property
    def damping(self) -> float:
        """The ratio: 1 and more for what does not oscillate, negative for what grows."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size if size else 0.0

    @property
    def time_constant(self) -> float:
        """In which it falls to 1/e, s; negative for what grows, infinite for what stays."""
        return -1 / self.eigenvalue.real if self.eigenvalue.real else float("inf")


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearModel:
    """xdot = A x + B u, y = C x + D u in deviations from `point`, with names and units for all of them."""

    model: str
    at: str  # where, in words
    time: float  # s
    A: Matrix = field(repr=False)
    B: Matrix = field(repr=False)
    C: Matrix = field(repr=False)
    D: Matrix = field(repr=False)
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    state_units: tuple[str, ...] = field(repr=False)
    input_units: tuple[str, ...] = field(repr=False)
    output_units: tuple[str, ...] = field(repr=False)
    point: Mapping[str, float] = field(default_factory=dict, repr=False)  # states, inputs and outputs there
    notes: tuple[str, ...] = ()

    # ---- modes

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of A (1/s), by modulus, a pair with the one above the real axis first."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return found[np.lexsort((-found.imag, found.real, np.round(np.abs(found), 12)))]

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """By frequency; a conjugate pair is one."""
        values, vectors = np.linalg.eig(self.A.astype(complex))
        found = [self._mode(value, vector) for value, vector in zip(values, vectors.T, strict=True) if _above(value)]
        return tuple(sorted(found, key=lambda m: (m.frequency, m.eigenvalue.real)))

    def _mode(self, value: complex, vector: NDArray[np.complex128]) -> Mode:
        if abs(value.imag) <= REAL * abs(value):
            value, vector = complex(value.real, 0.0), vector + 0.0
        rates = self._rates
        seen = [k for k in range(len(self.states)) if k not in rates] or range(len(self.states))
        largest = max(seen, key=lambda k: abs(vector[k]))
        scale = vector[largest] if vector[largest] else 1.0
        shape = {name: complex(x / scale) for name, x in zip(self.states, vector, strict=True)}
        return Mode(eigenvalue=value, shape=shape, moves={self.states[k]: shape[self.states[k]] for k in seen})

    @cached_property
    def _rates(self) -> frozenset[int]:
        """States that are the velocities of others."""
        return frozenset(
            k for row in self.A for k in [int(np.argmax(np.abs(row)))] if row[k] == 1.0 and np.count_nonzero(row) == 1
        )

    @property
    def stable(self) -> bool:
        """Whether every mode decays."""
        return bool((self.eigenvalues.real < 0).all())

    # ---- responses

    def response(self, frequencies: Iterable[float], output: str, input: str) -> NDArray[np.complex128]:
        """The transfer function at frequencies (Hz); the slope of an input counts as s times the input (T19.13)."""
        row, columns = self._place("output", output), self._columns(input)
        s = 2j * np.pi * _finite("frequencies", frequencies)
        eye = np.eye(len(self.A))
        found = np.empty(len(s), dtype=complex)
        for k, at in enumerate(s):
            b = sum(factor(at) * self.B[:, c] for c, factor in columns)
            d = sum(factor(at) * self.D[row, c] for c, factor in columns)
            found[k] = self.C[row] @ np.linalg.solve(at * eye - self.A, b) + d
        return found

    def _columns(self, input: str) -> list[tuple[int, Any]]:
        columns = [(self._place("input", input), lambda s: 1.0)]
        slope = f"der({input})"
        return [*columns, (self.inputs.index(slope), lambda s: s)] if slope in self.inputs else columns

    def _place(self, what: str, name: str) -> int:
        names: tuple[str, ...] = getattr(self, f"{what}s")
        if name not in names:
            known = f"{did_you_mean(name, names)}; known: {', '.join(names) or 'none'}"
            raise ModelError(f"the linear model of '{self.model}' has no {what} {name!r}{known}")
        return names.index(name)

    def step_response(self, times: Sequence[float], output: str, input: str) -> Vector:
        """The output's deviation at times (s) after the input has gone up by 1, exact to rounding."""
        from scipy.linalg import expm

        proper = self._only(output, input).without_slopes()
        n = len(self.A)
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, n] = proper.A, proper.B[:, 0]
        steps = (expm(whole * t)[:n, n] for t in _finite("times", times))
        return np.array([proper.C[0] @ x + proper.D[0, 0] for x in steps])

    def _only(self, output: str, input: str) -> LinearModel:
        """The same with one output, and one input with its slope."""
        row, columns = self._place("output", output), [c for c, _ in self._columns(input)]
        return replace(
            self, B=self.B[:, columns], C=self.C[[row]], D=self.D[np.ix_([row], columns)],
            inputs=tuple(self.inputs[c] for c in columns), input_units=tuple(self.input_units[c] for c in columns),
            outputs=(output,), output_units=(self.output_units[row],),
        )  # fmt: skip

    def without_slopes(self) -> LinearModel:
        """The same with states x - B1 u, B1 u' being what slopes of inputs do (T19.14); ModelError if outputs jump."""
        pairs = [(k, self.inputs.index(f"der({n})")) for k, n in enumerate(self.inputs) if f"der({n})" in self.inputs]
        if not pairs:
            return self
        A, B, D = self.A, self.B.copy(), self.D.copy()
        for k, slope in pairs:
            moved = np.flatnonzero(self.D[:, slope])
            if len(moved):
                names = ", ".join(self.outputs[m] for m in moved)
                raise ModelError(
                    f"{names} follow the slope of input '{self.inputs[k]}' itself; leave these outputs out, or use "
                    f"response(), or keep the input {self.inputs[slope]}"
                )
            B[:, k] += A @ self.B[:, slope]
            D[:, k] += self.C @ self.B[:, slope]
        kept = [k for k in range(len(self.inputs)) if k not in {slope for _, slope in pairs}]
        inputs, units = ([whole[k] for k in kept] for whole in (self.inputs, self.input_units))
        note = "states are those of the model less what slopes of inputs put into them"
        return replace(
            self, B=B[:, kept], D=D[:, kept], inputs=tuple(inputs), input_units=tuple(units), notes=(*self.notes, note)
        )

    def plot_bode(
        self, output: str, input: str, *, frequencies: Sequence[float] | None = None, path: Any = None
    ) -> Figure:
        """Draw magnitude and phase of a transfer function, into a file (.png, .pdf, .svg) if `path` is given."""
        if path is not None:
            _known_suffix(path, PICTURES)
        f = np.asarray(self._frequencies() if frequencies is None else frequencies)
        values = self.response(f, output, input)
        figure, (above, below) = _two_axes()
        above.loglog(f, np.abs(values))
        units = (self.output_units[self._place("output", output)], self.input_units[self._place("input", input)])
        above.set_ylabel(f"|{output} / {input}| [{' / '.join(u or '1' for u in units)}]")
        below.semilogx(f, np.degrees(np.unwrap(np.angle(values))))
        below.set_ylabel("phase [deg]")
        below.set_xlabel("frequency [Hz]")
        above.set_title(f"{self.model}, {self.at}")
        for axes in (above, below):
            axes.grid(True, which="both", alpha=0.3)
        if path is not None:
            with atomic(path) as temporary:
                figure.savefig(temporary, format=Path(path).suffix[1:].lower())
        return figure

    def _frequencies(self) -> Vector:
        """From below the slowest mode to above the fastest."""
        sizes = [m.frequency for m in self.modes if m.frequency > 0] or [1.0]
        return np.logspace(np.log10(min(sizes)) - DECADES, np.log10(max(sizes)) + DECADES, POINTS)

    # ---- elsewhere

    def to_numpy(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Copies of A, B, C and D."""
        return self.A.copy(), self.B.copy(), self.C.copy(), self.D.copy()

    def to_control(self) -> Any:
        """A StateSpace of python-control, whose names have `_` where a name here has a point."""
        try:
            import control
        except ImportError as error:
            text = "to_control needs python-control, which is not installed; run: pip install control"
            raise ImportError(text) from error
        names = {what: [n.replace(".", "_") for n in getattr(self, what)] for what in ("states", "inputs", "outputs")}
        return control.ss(*self.to_numpy(), name=self.model, **names)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, or as a MAT file of A, B, C, D and the names, by the suffix."""
        suffix = _known_suffix(path, SUFFIXES)
        content = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        with atomic(path) as file:
            if suffix == ".json":
                file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            else:
                self._write_mat(file)

    def _write_mat(self, file: Path) -> None:
        from scipy.io import savemat

        named = {name: np.array(getattr(self, name), dtype=object) for name in _NAMES}
        matrices = {name: getattr(self, name) for name in _MATRICES}
        with open(file, "wb") as stream:
            savemat(stream, {**matrices, **named, "model": self.model, "at": self.at, "time": self.time})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LinearModel:
        """What `write` has written as JSON."""
        if Path(path).suffix.lower() == ".mat":
            raise ModelError(f"{os.fspath(path)}: is read from .json only; scipy.io.loadmat reads this one")
        if not Path(path).is_file():
            raise ModelError(f"{os.fspath(path)}: there is no such file")
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            shape = (len(content["states"]), len(content["inputs"]), len(content["outputs"]))
            sizes = dict(zip(_MATRICES, ((0, 0), (0, 1), (2, 0), (2, 1)), strict=True))
            given = {n: np.array(content[n], dtype=float).reshape(shape[i], shape[j]) for n, (i, j) in sizes.items()}
            names = {name: tuple(content[name]) for name in _NAMES}
            known = {f.name: content[f.name] for f in fields(cls)}
            return cls(**{**known, **given, **names})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError(f"{os.fspath(path)}: is no linear model that mbdfmu has written ({error!r})") from None


def _above(value: complex) -> bool:
    """Of a conjugate pair one, and all that is real."""
    return value.imag >= 0 or abs(value.imag) <= REAL * abs(value)


def _finite(what: str, values: Iterable[float]) -> Vector:
    """Numbers that are not below zero, as frequencies and times after a step are."""
    found = np.asarray(list(values), dtype=float)
    wrong = found[~(np.isfinite(found) & (found >= 0))]
    if len(wrong):
        raise ModelError(f"{what} must be finite and not negative, found {wrong[0]:g}")
    return found


def _known_suffix(path: str | os.PathLike[str], allowed: Sequence[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in allowed:
        raise ModelError(f"{os.fspath(path)}: the suffix names no format; allowed: {', '.join(allowed)}")
    return suffix


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _two_axes() -> tuple[Figure, Iterator[Any]]:
    """No pyplot: its global state keeps figures alive and wants a screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot needs matplotlib, which is not installed; run: pip install 'mbdfmu[plot]'") from error
    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(2, 1, sharex=True)
