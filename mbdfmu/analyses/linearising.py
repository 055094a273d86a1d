"""The linear model of a simulation where it is: xdot = A x + B u, y = C x + D u (T19.8 to T19.12).

States are positions and velocities of independent coordinates, then the model's own; joints are eliminated exactly.
Must not know files, nor how simulations are started.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbdfmu.analyses.linear_model import LinearModel
from mbdfmu.analyses.native import translated
from mbdfmu.analyses.numbers import at_state
from mbdfmu.analyses.partition import Indices, Matrix, Partition, chosen, partition
from mbdfmu.analyses.sensitivities import sensitivities
from mbdfmu.analyses.standing import units
from mbdfmu.calling import Called
from mbdfmu.errors import ModelError, StepFailed, did_you_mean
from mbdfmu.expressions import Node
from mbdfmu.lowering import Lowered
from mbdfmu.signals import SymbolicModel
from mbdfmu.units import differentiated

FEW = 8  # names in a message
ROTATIONS_FIRST = 4.0  # how much rather a length depends than an angle: mechanisms are told by their angles
NUDGE = 1e-7  # rad, or of the model's length (per second): to both sides of a point
JUMP = 1e-3  # of the largest entry of a row, by which its slopes differ there: a kink
ROUNDING = 1e-12  # of the largest entry of all: rows of nothing else have no kinks
PER_S = 1.0  # the pace of a nudge of velocities, 1/s


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the linear model shall have, all by name."""

    inputs: Sequence[str]
    outputs: Sequence[str]
    coordinates: Sequence[str] = ()  # independent ones; none: chosen by their pivots
    at: str = ""  # in words


def wanted(
    model: SymbolicModel,
    inputs: str | Iterable[str] | None,
    outputs: str | Iterable[str] | None,
    states: str | Iterable[str] | None,
    at: str,
) -> Wanted:
    """What is asked for by names and patterns; a ModelError lists all that fits nothing."""
    problems: list[str] = []
    signals, driven = list(model.signals), [s.name for s in model.inputs]
    coordinates = [c.name for c in model.coordinates]
    found = Wanted(
        inputs=_named("inputs", inputs, driven, driven, problems),
        outputs=_named("outputs", outputs, model.description.outputs, signals, problems),
        coordinates=_named("states", states, (), coordinates, problems),
        at=at,
    )
    if problems:
        raise ModelError(problems)
    return found


def _named(
    what: str, given: str | Iterable[str] | None, default: Iterable[str], known: Iterable[str], problems: list[str]
) -> tuple[str, ...]:
    if given is None:
        return tuple(default)
    if not isinstance(given, Iterable) or any(not isinstance(pattern, str) for pattern in given):
        problems.append(f"{what} must be names or patterns such as 'crank.*', found {given!r}")
        return ()
    known = list(known)
    names: dict[str, None] = {}
    for pattern in [given] if isinstance(given, str) else given:
        fitting = [pattern] if pattern in known else fnmatch.filter(known, pattern)
        names |= dict.fromkeys(fitting)
        if not fitting:
            problems.append(f"{what}: nothing is called {pattern!r}{did_you_mean(pattern, known)}{_known(known)}")
    return tuple(names)


def _known(names: Sequence[str]) -> str:
    """The names to choose from if they are few, else where they are."""
    if len(names) > FEW:
        return "; all names: mbdfmu info MODEL --signals '*'"
    return f"; known: {', '.join(names) or 'none'}"


def linearise(native: Any, lowered: Lowered, functions: Sequence[Called], wanted: Wanted) -> LinearModel:
    """The linear model at a simulation's state."""
    with translated(f"model '{lowered.model.description.name}': "):
        native.report()
    return _Linearisation(native, lowered, functions, wanted).made()


@dataclass(frozen=True, kw_only=True)
class _By:
    """Derivatives of something by the states, by the inputs and by the slopes of the inputs."""

    __array_ufunc__ = None  # a matrix from the left is for __rmatmul__

    s: Matrix
    u: Matrix
    ud: Matrix

    def __add__(self, other: _By) -> _By:
        return _By(s=self.s + other.s, u=self.u + other.u, ud=self.ud + other.ud)

    def __rmatmul__(self, matrix: Matrix) -> _By:
        return _By(s=matrix @ self.s, u=matrix @ self.u, ud=matrix @ self.ud)

    def __getitem__(self, rows: Any) -> _By:
        return _By(s=self.s[rows], u=self.u[rows], ud=self.ud[rows])


class _Linearisation:
    """All derivatives at one point, and what follows from them."""

    def __init__(self, native: Any, lowered: Lowered, functions: Sequence[Called], wanted: Wanted) -> None:
        self.native, self.lowered, self.wanted = native, lowered, wanted
        self.model, self.system = lowered.model, native.system
        self.numbers = at_state(native, lowered, functions)  # pace 1: what inputs prescribe moves with them
        self.state = native.save()
        self.nv, self.nc, self.nx = int(self.system.nv), int(self.system.nc), int(self.system.nx)
        self.n, self.nu = int(self.system.n), len(lowered.inputs)
        out = set(self.state.dropped)
        self.held = np.array([k for k in range(self.nc) if self.nv + k not in out], dtype=np.intp)
        self.units = units(native, lowered)

    # ---- rows that hold

    @cached_property
    def _rows(self) -> tuple[dict[str, Matrix], dict[str, Matrix], Indices]:
        """Derivatives of what rows make of velocities and of accelerations (T19.8), and the levels of the rows."""
        s, n, held = self.state, self.native, self.held
        rows, cols, values = n.rate_derivatives(s.t, s.q, n.v, n.a, s.x, n.xdot)
        parts = np.zeros((self.nc, self.n, 3))
        np.add.at(parts, (rows - self.nv, cols), values.reshape(-1, 3))
        speed, second, by_v = np.moveaxis(parts[held], 2, 0)
        states = slice(self.nv + self.nc, self.nv + self.nc + self.nx)
        levels = np.array(self.system.levels, dtype=np.intp).reshape(-1)[held]
        gradient = self._derivative(1, 0, 0, 0)[self.nv + held, : self.nv]
        by_input = self._rows_by_inputs()
        rolling = (levels == 1)[:, np.newaxis]
        speeds = {"v": gradient, "q": speed[:, : self.nv], "x": speed[:, states], "u": by_input["speed"]}
        rates = {"a": gradient, "q": second[:, : self.nv], "v": by_v[:, : self.nv], "x": second[:, states],
                 "xd": speed[:, states] * rolling, "u": by_input["u"], "ud": by_input["ud"]}  # fmt: skip
        return speeds, rates, levels

    def _rows_by_inputs(self) -> dict[str, Matrix]:
        """The same by inputs, which only expressions hold."""
        motion, zero = self.model.motion, self.model.graph.zero
        every = [row for c in self.model.constraints for p in c.primitives for row in p.rows]
        rows = [row if any(s.value[0] == "u" for s in row.value.support) else None for row in every]
        found = [rows[k] for k in self.held]
        speeds = [row.value if row and row.level == "velocity" else zero for row in found]
        rates = [
            zero if row is None else row.value if row.level == "acceleration" else motion.rate(row.value)
            for row in found
        ]
        first = sensitivities(self.lowered, self.numbers, speeds, ("u",))
        return {"speed": first["u"], **sensitivities(self.lowered, self.numbers, rates, ("u", "ud"))}

    @cached_property
    def _places(self) -> Partition:
        """The coordinates that fix all positions."""
        speeds, _, levels = self._rows
        gradient = speeds["v"][levels == 0]
        names = [c.name for c in self.model.coordinates]
        if self.wanted.coordinates:
            return chosen(gradient, self.units, [names.index(n) for n in self.wanted.coordinates], names)
        weights = np.array([1.0 if c.unit == "rad" else ROTATIONS_FIRST for c in self.model.coordinates])
        return partition(gradient, self.units, weights)

    @cached_property
    def _speeds(self) -> Partition:
        """Those of them that fix all velocities: fewer where rows hold velocities only."""
        speeds, _, levels = self._rows
        rolling = speeds["v"][levels == 1]
        if not len(rolling):
            return self._places
        free = self._places.independent
        inner = partition(rolling @ self._places.tangent, self.units[free])
        gradient = speeds["v"][levels < 2]
        independent = free[inner.independent]
        dependent = np.setdiff1d(np.arange(self.nv, dtype=np.intp), independent)
        rows = np.concatenate([self._places.rows, np.count_nonzero(levels == 0) + inner.rows])
        order = np.argsort(levels[levels < 2], kind="stable")
        return Partition.made(gradient[order], dependent, rows, independent)

    # ---- how everything moves with states and inputs

    @property
    def _counts(self) -> tuple[int, int, int]:
        return self._places.free, self._speeds.free, self.nx

    def _none(self, rows: int) -> _By:
        return _By(s=np.zeros((rows, sum(self._counts))), u=np.zeros((rows, self.nu)), ud=np.zeros((rows, self.nu)))

    @cached_property
    def _q(self) -> _By:
        by = self._none(self.nv)
        by.s[:, : self._places.free] = self._places.tangent
        return by

    @cached_property
    def _x(self) -> _By:
        by = self._none(self.nx)
        by.s[:, sum(self._counts[:2]) :] = np.eye(self.nx)
        return by

    @cached_property
    def _u(self) -> _By:
        by = self._none(self.nu)
        by.u[:] = np.eye(self.nu)
        return by

    @cached_property
    def _ud(self) -> _By:
        by = self._none(self.nu)
        by.ud[:] = np.eye(self.nu)
        return by

    @cached_property
    def _v(self) -> _By:
        """Velocities keep their rows where positions, states and inputs move (T19.9)."""
        speeds, _, levels = self._rows
        first, count, _ = self._counts
        by = self._none(self.nv)
        by.s[:, first : first + count] = self._speeds.tangent
        order = np.flatnonzero(levels < 2)[np.argsort(levels[levels < 2], kind="stable")][self._speeds.rows]
        moved = speeds["q"][order] @ self._q + speeds["x"][order] @ self._x + speeds["u"][order] @ self._u
        return by + (-self._speeds.closing) @ moved

    @cached_property
    def _solved(self) -> dict[str, _By]:
        """Accelerations, reactions, rates and variables: the index-1 system, differentiated (T19.10)."""
        nv, nc, nx = self.nv, self.nc, self.nx
        plain = self._derivative(0, 0, 0, 0)
        by_a, by_v, by_q, by_x = (self._derivative(*row) - plain for row in np.eye(4))
        others = np.r_[np.arange(nv), np.arange(nv + nc, self.n)]
        _, rates, _ = self._rows
        inputs = self._by_inputs(others)
        dynamic = (
            by_q[others, :nv] @ self._q + by_v[others, :nv] @ self._v + by_x[others, nv + nc : nv + nc + nx] @ self._x
        ) + (inputs["u"] @ self._u + inputs["ud"] @ self._ud)
        holding = sum((rates[g] @ part for g, part in self._given.items()), self._none(len(self.held)))
        lam = plain[np.ix_(others, nv + self.held)]
        matrix = np.block([
            [by_a[others, :nv], lam, plain[others, nv + nc :]],
            [rates["a"], np.zeros((len(self.held), len(self.held))), rates["xd"],
             np.zeros((len(self.held), self.n - nv - nc - nx))],
        ])  # fmt: skip
        right = np.hstack([np.vstack([getattr(part, key) for part in (dynamic, holding)]) for key in ("s", "u", "ud")])
        if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
            raise StepFailed(f"{self._odd(matrix, right, others)}; linearise elsewhere")
        try:
            found = -np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            raise StepFailed("accelerations and reactions are not determined here: a mass is missing") from None
        ends = np.cumsum([sum(self._counts), self.nu])
        by = _By(**dict(zip(("s", "u", "ud"), np.split(found, ends, axis=1), strict=True)))
        reactions = self._none(nc)
        lam_rows = slice(nv, nv + len(self.held))
        for key in ("s", "u", "ud"):
            getattr(reactions, key)[self.held] = getattr(by[lam_rows], key)
        rest = nv + len(self.held)
        return {"a": by[:nv], "lam": reactions, "xd": by[rest : rest + nx], "y": by[rest + nx :]}

    @property
    def _given(self) -> dict[str, _By]:
        return {"q": self._q, "v": self._v, "x": self._x, "u": self._u, "ud": self._ud}

    def _odd(self, matrix: Matrix, right: Matrix, others: Any) -> str:
        bad = np.flatnonzero(~(np.isfinite(matrix).all(axis=1) & np.isfinite(right).all(axis=1)))[0]
        rows = [*others, *(self.nv + self.held)]
        return f"a derivative in the equation of {self.system.labels[rows[bad]]} is not finite"

    def _by_inputs(self, rows: Any) -> dict[str, Matrix]:
        """Derivatives of the equations by inputs, which come in by expressions only."""
        equations = self.lowered.equations
        zero = self.model.graph.zero
        nodes = [equations.get(int(row), zero) for row in rows]
        return sensitivities(self.lowered, self.numbers, nodes, ("u", "ud"))

    def _derivative(self, *weights: float) -> Matrix:
        s, n = self.state, self.native
        point = (s.t, s.q, n.v, n.a, n.lam, s.x, n.xdot, n.y)
        return self._assembled(point, weights)

    def _assembled(self, point: tuple[Any, ...], weights: Sequence[float]) -> Matrix:
        matrix = np.zeros((self.n, self.n))
        values = self.native.derivative(*point, *map(float, weights))
        np.add.at(matrix, (self.system.rows, self.system.cols), values)
        return matrix

    # ---- the model

    def made(self) -> LinearModel:
        names = [*self.lowered.inputs]
        chosen_inputs = np.array([names.index(name) for name in self.wanted.inputs], dtype=np.intp)
        dynamics, outputs = self._dynamics(), self._outputs()
        felt = [k for k in chosen_inputs if dynamics.ud[:, k].any() or outputs.ud[:, k].any()]
        states, state_units = self._state_names()
        signals = self.model.signals
        input_units = [signals[names[k]].unit for k in chosen_inputs]
        return LinearModel(
            model=self.model.description.name,
            at=self.wanted.at,
            time=float(self.state.t),
            A=dynamics.s,
            B=np.hstack([dynamics.u[:, chosen_inputs], dynamics.ud[:, felt]]),
            C=outputs.s,
            D=np.hstack([outputs.u[:, chosen_inputs], outputs.ud[:, felt]]),
            states=tuple(states),
            inputs=(*self.wanted.inputs, *(f"der({names[k]})" for k in felt)),
            outputs=tuple(self.wanted.outputs),
            state_units=tuple(state_units),
            input_units=(*input_units, *(differentiated(signals[names[k]].unit) for k in felt)),
            output_units=tuple(signals[name].unit for name in self.wanted.outputs),
            point=self._point(),
            notes=tuple(self._notes(names, felt)),
        )

    def _dynamics(self) -> _By:
        """Rates of the states (T19.11); increments of a rotation turn with the body."""
        free = self._places.independent
        places = self._turned() @ self._q + self._v
        parts = [places[free], self._solved["a"][self._speeds.independent], self._solved["xd"]]
        return _By(**{key: np.vstack([getattr(part, key) for part in parts]) for key in ("s", "u", "ud")})

    def _turned(self) -> Matrix:
        """d(theta)/dt = d(omega) - omega x theta for the rotations of spatial bodies."""
        matrix = np.zeros((self.nv, self.nv))
        omega = self.native.v
        for body in range(len(self.model.bodies) if self.model.dimensions == 3 else 0):
            k = 6 * body + 3
            x, y, z = omega[k : k + 3]
            matrix[k : k + 3, k : k + 3] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return matrix

    def _outputs(self) -> _By:
        """What outputs make of everything (T19.12)."""
        nodes = [self.model.signals[name].node for name in self.wanted.outputs]
        self._refuse_shared(nodes)
        found = sensitivities(self.lowered, self.numbers, nodes)
        moved = {**self._given, **self._solved}
        return sum((found[group] @ part for group, part in moved.items()), self._none(len(nodes)))

    def _refuse_shared(self, nodes: Sequence[Node]) -> None:
        """Reactions of rows that repeat others are not unique; what is reported follows no equation of motion."""
        shared = {k for row, repeats in self.native.redundancies for k in (row, *(r for r, _ in repeats))}
        places = self.lowered.places["lam"]
        problems = [
            f"output '{name}' depends on reactions that are not unique, as rows repeat others; leave it out"
            for name, node in zip(self.wanted.outputs, nodes, strict=True)
            if any(s.value[0] == "lam" and places[s.value[1]] in shared for s in node.support)
        ]
        if problems:
            raise ModelError(problems)

    def _state_names(self) -> tuple[list[str], list[str]]:
        coordinates, signals = self.model.coordinates, self.model.signals
        places = [coordinates[k] for k in self._places.independent]
        speeds = [coordinates[k] for k in self._speeds.independent]
        names = [*(c.name for c in places), *(c.rate for c in speeds), *(s.name for s in self.model.states)]
        found = [*(c.unit for c in places), *(signals[c.rate].unit for c in speeds)]
        return names, [*found, *(s.unit for s in self.model.states)]

    def _point(self) -> dict[str, float]:
        """What the states, inputs and outputs are here; rotations count from here."""
        s, places, speeds = self.state, self._places.independent, self._speeds.independent
        names, _ = self._state_names()
        values = [*s.q[: self.nv][places], *self.native.v[speeds], *s.x]
        u = {name: float((s.u + s.udot * (s.t - s.t_input))[k]) for name, k in self.lowered.inputs.items()}
        signals = dict(zip(self.lowered.signals, self.native.signals(), strict=True))
        outputs = [signals[name] for name in self.wanted.outputs]
        return {**dict(zip(names, map(float, values), strict=True)), **{n: u[n] for n in self.wanted.inputs},
                **dict(zip(self.wanted.outputs, map(float, outputs), strict=True))}  # fmt: skip

    # ---- what has to be known about it

    def _notes(self, names: Sequence[str], felt: Sequence[int]) -> list[str]:
        slopes = [
            f"the slope of input '{names[k]}' acts too: it is the input der({names[k]}); without_slopes() takes it in"
            for k in felt
        ]
        kinks = self._kinks()
        if kinks:
            what = f"there is a kink in the equations of {', '.join(kinks[:4])}{' and more' if kinks[4:] else ''}"
            slopes.append(f"{what} (friction at rest, a contact that touches): the slopes are those of one side")
        return slopes

    def _kinks(self) -> list[str]:
        """Equations whose slopes just ahead differ from those just behind, along a way that is nothing special."""
        s, n, rng = self.state, self.native, np.random.default_rng(0)
        dq, dv = (NUDGE * self.units * rng.uniform(0.5, 1, self.nv) for _ in range(2))

        def slopes(sign: float) -> Matrix:
            q = np.asarray(self.system.moved(s.q, sign * self._places.tangent @ dq[self._places.independent]))
            v = n.v + sign * PER_S * self._speeds.tangent @ dv[self._speeds.independent]
            return self._assembled((s.t, q, v, n.a, n.lam, s.x, n.xdot, n.y), (0, 1, 1, 1))

        ahead, behind = slopes(1.0), slopes(-1.0)
        largest = np.maximum(np.abs(ahead), np.abs(behind)).max(axis=1, initial=0.0)
        jump = np.abs(ahead - behind).max(axis=1, initial=0.0)
        floor = ROUNDING * largest.max(initial=0.0)
        labels = [self.system.labels[k] for k in np.flatnonzero(jump > JUMP * np.maximum(largest, floor))]
        return list(dict.fromkeys(labels))
