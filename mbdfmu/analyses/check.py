"""What a model amounts to before it moves: counts, rank, how its start fits; must not know how this is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import CompiledModel, Vector
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.expressions import Node, evaluate
from mbdfmu.signals import SymbolicModel
from mbdfmu.units import differentiated

# Of the model's length, or rad: what the solver closes by itself at the start (solver/instance.cpp, `consistent`).
CLOSED = 1e-6
# Of the largest independent row: below it a constraint row is a combination of the others.
DEPENDENT = 1e-9
CURE = "correct it, or ask for assembly (assemble=True, --assemble)"


class Residual(NamedTuple):
    """A constraint row that should be zero."""

    value: float
    unit: str
    closed: bool


@dataclass(frozen=True, kw_only=True)
class Opening:
    """How far the constraints of one element are open at the start as written: its worst row, at both levels."""

    label: str  # `joint 'hinge'`
    rows: int
    position: Residual
    velocity: Residual


@dataclass(frozen=True, kw_only=True)
class Check:
    """The verdict on a model; `findings` say what prevents a simulation from its start as written."""

    name: str
    bodies: int
    mass: float  # kg, of all bodies
    length: float  # m, the scale by which violations are measured
    coordinates: int
    constraints: int  # rows
    rank: int  # of G at the start
    redundant: tuple[str, ...]  # rows beyond the rank
    openings: tuple[Opening, ...]
    findings: tuple[str, ...]

    @property
    def freedoms(self) -> int:
        """Independent motions at the start."""
        return self.coordinates - self.rank

    @property
    def passed(self) -> bool:
        return not self.findings


def check(compiled: CompiledModel) -> Check:
    """Look at a model at its start positions and velocities as written, with the default parameters."""
    model = compiled.lowered.model
    refusal = _refusal(compiled)  # first: starting runs the parameter program, on which the evaluations below rest
    q, v = (np.array(_values(model, nodes)) for nodes in _starts(model))
    (length,) = _values(model, [model.length])
    phi, speed = compiled.constraints(0.0, q), compiled.rates(0.0, q, v)[0]
    if refusal is not None and not np.isfinite([length, *q, *v, *phi, *speed]).all():
        raise refusal
    rank, redundant = compiled.nc, list[int]()  # a start that succeeds has independent rows
    if refusal is not None:
        rank, redundant = _independent(_gradient(compiled, q, v, length))
    openings = tuple(_openings(model, phi, speed, length, _speed_scale(model, v, length)))
    labels = compiled.labels[compiled.nv :]
    repeated = tuple(labels[row] for row in redundant)
    findings = [*_open(openings), *_repeated(repeated)] or ([str(refusal)] if refusal else [])
    return Check(
        name=model.description.name,
        bodies=len(model.masses),
        mass=sum(_values(model, [mass for _, mass, _ in model.masses])),
        length=length,
        coordinates=compiled.nv,
        constraints=compiled.nc,
        rank=rank,
        redundant=repeated,
        openings=openings,
        findings=tuple(findings),
    )


def _refusal(compiled: CompiledModel) -> ModelError | StepFailed | None:
    try:
        compiled.start()
    except (ModelError, StepFailed) as error:
        return error
    return None


def _starts(model: SymbolicModel) -> tuple[list[Node], list[Node]]:
    return model.start_nodes([c.name for c in model.coordinates]), model.start_nodes(
        [c.rate for c in model.coordinates]
    )


def _values(model: SymbolicModel, nodes: list[Node]) -> list[float]:
    """Nodes that depend on parameters only, at the parameters' defaults."""
    defaults = {s.node: s.start for s in model.parameters}
    return [float(value) for value in evaluate(nodes, defaults)]


# ---------------------------------------------------------------- rank


def _gradient(compiled: CompiledModel, q: Vector, v: Vector, length: float) -> NDArray[np.float64]:
    """G with angles as arcs of the model's length and rows of size one, so that the rank depends on no unit."""
    nv, nc = compiled.nv, compiled.nc
    jacobian = compiled.jacobian(0.0, q, v, np.zeros(nv), np.zeros(nc), (0, 0, 0))
    rows: NDArray[np.float64] = jacobian[nv : nv + nc, :nv].toarray()
    rows /= [length if c.unit == "rad" else 1.0 for c in compiled.lowered.model.coordinates]
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    unit_rows: NDArray[np.float64] = np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0)
    return unit_rows


def _independent(rows: NDArray[np.float64]) -> tuple[int, list[int]]:
    """Rank, and the rows that add nothing to it. Rejected: the SVD, which cannot name rows and takes longer."""
    if not rows.size:
        return 0, list(range(len(rows)))
    from scipy.linalg import qr

    r, pivots = qr(rows.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(r))
    rank = int(np.count_nonzero(sizes > DEPENDENT * max(sizes[0], DEPENDENT)))
    return rank, sorted(int(row) for row in pivots[rank:])


def _repeated(labels: tuple[str, ...]) -> Iterator[str]:
    if labels:
        verb = "repeats" if len(labels) == 1 else "repeat"
        cure = "remove the joint, replace it by one that holds less, or start away from a dead centre"
        yield f"redundant constraints: {', '.join(labels)} {verb} what others hold at the start; {cure}"


# ---------------------------------------------------------------- fit of the start


def _openings(model: SymbolicModel, phi: Vector, speed: Vector, length: float, scale: float) -> Iterator[Opening]:
    first = 0
    for constraint in model.constraints:
        units = [row.unit for primitive in constraint.primitives for row in primitive.rows]
        rows = slice(first, first + len(units))
        first += len(units)
        position = _worst(phi[rows], units, length, CLOSED)
        velocity = _worst(speed[rows], [differentiated(unit) for unit in units], length, CLOSED * scale)
        yield Opening(label=constraint.label, rows=len(units), position=position, velocity=velocity)


def _worst(values: Iterable[float], units: list[str], length: float, limit: float) -> Residual:
    """The row that is farthest from zero, where lengths count in the model's length."""
    pairs = zip(values, units, strict=True)
    size, value, unit = max(
        (abs(value) / (length if unit.startswith("m") else 1.0), value, unit) for value, unit in pairs
    )
    return Residual(float(value), unit, bool(size <= limit))


def _speed_scale(model: SymbolicModel, v: Vector, length: float) -> float:
    """What start velocities are measured by: the fastest coordinate, at least 1/s."""
    sizes = (1.0 if c.unit == "rad" else length for c in model.coordinates)
    return max(1.0, *(abs(float(w)) / size for w, size in zip(v, sizes, strict=True)))


def _open(openings: tuple[Opening, ...]) -> Iterator[str]:
    for opening in openings:
        if not opening.position.closed:
            value, unit, _ = opening.position
            yield f"{opening.label}: the start positions leave it open by {value:.3g} {unit}; {CURE}"
        if not opening.velocity.closed:
            value, unit, _ = opening.velocity
            yield f"{opening.label}: the start velocities open it with {value:.3g} {unit}; {CURE}"
