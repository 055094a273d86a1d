"""What a model amounts to before it moves: counts, rank, how its start fits; must not know how this is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.compiled import CompiledModel, Vector
from mbdfmu.analyses.notes import assembled, large_angles, moved, unreal_inertias
from mbdfmu.analyses.redundancy import Redundancy, redundancies
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.expressions import Node, evaluate
from mbdfmu.signals import SymbolicModel
from mbdfmu.units import differentiated

# Of the model's length, or rad: what the solver closes by itself at the start (solver/start.cpp, `consistent`).
CLOSED = 1e-6
# Of the largest independent row: below it a constraint row is a combination of the others.
DEPENDENT = 1e-6
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
    """The verdict on a model; `findings` say what prevents a simulation from its start as written, `notes` do not."""

    name: str
    bodies: int
    mass: float  # kg, of all bodies
    center: tuple[float, ...]  # m, of mass at the start (assembled, where it does not fit), ground axes
    inertia: tuple[float, ...]  # kg.m2, about that centre: one number, or xx yy zz xy xz yz
    length: float  # m, the scale by which violations are measured
    coordinates: int
    states: int  # differential states, those of elements included
    unknowns: int  # variables and forces that are solved for in every step
    constraints: int  # rows that hold at the start
    rank: int  # of G at the start
    redundant: tuple[Redundancy, ...]  # rows beyond the rank, and what they repeat
    counted: str  # where, if not at the start as written
    openings: tuple[Opening, ...]
    notes: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def freedoms(self) -> int:
        """Independent motions at the start."""
        return self.coordinates - self.rank

    @property
    def passed(self) -> bool:
        return not self.findings


def check(compiled: CompiledModel) -> Check:
    """Look at a model at its start positions and velocities as written, with the default parameters.

    What is counted is counted where a simulation can start: after assembly, where joints are open as written.
    """
    model = compiled.lowered.model
    # First: starting runs the parameter program, on which the evaluations below rest.
    start, refusal = _started(compiled)
    q = np.array(_values(model, [*model.position_starts, *model.orientation_starts]))
    v = np.array(_values(model, model.velocity_starts))
    (length,) = _values(model, [model.length])
    phi, speed = compiled.constraints(0.0, q), compiled.rates(0.0, q, v)[0]
    if refusal is not None and not np.isfinite([length, *q, *v, *phi, *speed]).all():
        raise refusal
    openings = tuple(_openings(model, phi, speed, length, _speed_scale(model, v, length)))
    set_by_motions = compiled.set_by_motions
    assembled_start = start if start is not None else _started(compiled, assemble=True)[0]
    pose = q if assembled_start is None else assembled_start
    redundant = _repeated(compiled, q, v, length) if assembled_start is None else compiled.redundancies
    mass, center, inertia = mass_properties(model, pose)
    return Check(
        name=model.description.name,
        bodies=len(model.bodies),
        mass=mass,
        center=tuple(map(float, center)),
        inertia=tuple(map(float, inertia)),
        length=length,
        coordinates=compiled.nv,
        states=int(compiled.system.nx),
        unknowns=int(compiled.system.ny),
        constraints=len(compiled.holding),
        rank=len(compiled.holding) - len(redundant),
        redundant=tuple(redundant),
        counted=_counted(model, q, pose, openings) if start is None else "",
        openings=openings,
        notes=(*set_by_motions, *_notes(model, q, start, length)),
        findings=tuple(_findings(model, openings, refusal)),
    )


def _started(
    compiled: CompiledModel, *, assemble: bool = False
) -> tuple[Vector | None, ModelError | StepFailed | None]:
    """The positions that a simulation starts from, or why there are none."""
    try:
        return compiled.start(assemble)[0], None
    except (ModelError, StepFailed) as error:
        return None, error


def _findings(
    model: SymbolicModel, openings: Sequence[Opening], refusal: ModelError | StepFailed | None
) -> Iterator[str]:
    """Why there is no start as written: the joints that are open, where no start values ask for assembly anyway."""
    if refusal is None:
        return
    driving = {c.label for c in model.constraints if c.drives}  # these set what they drive
    found = [] if model.initials else [*_open(o for o in openings if o.label not in driving)]
    yield from found or [str(refusal)]


def _counted(model: SymbolicModel, q: Vector, pose: Vector, openings: Sequence[Opening]) -> str:
    """Where rows and freedoms are counted, if the start as written is none."""
    if all(opening.position.closed for opening in openings):
        return ""
    if pose is q:
        return "as written, where joints are open: this means nothing"
    return f"after assembly: {moved(model, q, pose, 0.0)}"


def _notes(model: SymbolicModel, q: Vector, start: Vector | None, length: float) -> Iterator[str]:
    if model.dimensions == 3:
        yield from unreal_inertias(model, _tensors(model))
    yield from large_angles(model.description)
    if model.initials and start is not None:
        yield assembled(model, q, start, CLOSED * max(length, 1.0))
    off = [c.label for c in model.constraints if not c.active]
    if off:
        yield f"holds nothing at the start, until an event or impact wants it: {', '.join(off)}"


def _tensors(model: SymbolicModel) -> Vector:
    """One row for every body: inertia about z, or xx yy zz xy xz yz."""
    values = np.array(_values(model, [node for body in model.bodies for node in body.inertia]))
    return values.reshape(len(model.bodies), 6 if model.dimensions == 3 else 1)


def _values(model: SymbolicModel, nodes: list[Node]) -> list[float]:
    """Nodes that depend on parameters only, at the parameters' defaults."""
    defaults = {s.node: s.start for s in model.parameters}
    return [float(value) for value in evaluate(nodes, defaults)]


# ---------------------------------------------------------------- mass


def mass_properties(model: SymbolicModel, q: Vector) -> tuple[float, Vector, Vector]:
    """Mass, centre of mass and inertia about it (xx yy zz xy xz yz, or about z) of all bodies at positions q."""
    size = model.dimensions
    if not model.bodies:
        return 0.0, np.zeros(size), np.zeros(6 if size == 3 else 1)
    masses = np.array(_values(model, [b.mass for b in model.bodies]))
    inertias = _tensors(model)
    places = np.array([q[3 * (size - 1) * k :][:size] for k in range(len(masses))])
    center = masses @ places / masses.sum()
    arms = places - center
    if size == 2:
        return float(masses.sum()), center, np.array([inertias.sum() + masses @ (arms**2).sum(axis=1)])
    turned = [_turned(J, e) for J, e in zip(inertias, q[len(model.coordinates) :].reshape(-1, 4), strict=True)]
    steiner = [m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)]
    J = np.sum(turned, axis=0) + np.sum(steiner, axis=0)
    return float(masses.sum()), center, J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def _turned(inertia: Vector, e: Vector) -> Vector:
    """A tensor in body axes, seen in ground axes."""
    xx, yy, zz, xy, xz, yz = inertia
    e0, (x, y, z) = e[0], e[1:]
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    R = np.eye(3) + 2 * e0 * skew + 2 * skew @ skew
    turned: Vector = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return turned


# ---------------------------------------------------------------- rank


def _repeated(compiled: CompiledModel, q: Vector, v: Vector, length: float) -> list[Redundancy]:
    """Rows that repeat others where the model cannot start: the solver looks at positions that fit only."""
    holding = compiled.holding
    rows = _gradient(compiled, q, v, length)[holding]
    if not rows.size:
        return []
    from scipy.linalg import qr

    r, pivots = qr(rows.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(r))
    rank = int(np.count_nonzero(sizes > DEPENDENT * max(sizes[0], DEPENDENT)))
    kept = sorted(int(row) for row in pivots[:rank])
    found = []
    for row in sorted(int(row) for row in pivots[rank:]):
        coefficients = np.linalg.lstsq(rows[kept].T, rows[row], rcond=None)[0]
        repeats = [(holding[k], c) for k, c in zip(kept, coefficients, strict=True) if abs(c) > DEPENDENT]
        found.append((holding[row], repeats))
    return redundancies(found, compiled.constraint_labels)


def _gradient(compiled: CompiledModel, q: Vector, v: Vector, length: float) -> NDArray[np.float64]:
    """G with angles as arcs of the model's length and rows of size one, so that the rank depends on no unit."""
    nv, nc = compiled.nv, compiled.nc
    jacobian = compiled.jacobian(0.0, q, v, np.zeros(nv), np.zeros(nc), (0, 0, 0))
    rows: NDArray[np.float64] = jacobian[nv : nv + nc, :nv].toarray()
    rows /= [length if c.unit == "rad" else 1.0 for c in compiled.lowered.model.coordinates]
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    unit_rows: NDArray[np.float64] = np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0)
    return unit_rows


# ---------------------------------------------------------------- fit of the start


def _openings(model: SymbolicModel, phi: Vector, speed: Vector, length: float, scale: float) -> Iterator[Opening]:
    first = 0
    for constraint in model.constraints:
        units = [row.unit for primitive in constraint.primitives for row in primitive.rows]
        rows = slice(first, first + len(units))
        first += len(units)
        if not constraint.active:
            continue
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
    return max([1.0, *(abs(float(w)) / size for w, size in zip(v, sizes, strict=True))])


def _open(openings: Iterable[Opening]) -> Iterator[str]:
    for opening in openings:
        if not opening.position.closed:
            value, unit, _ = opening.position
            yield f"{opening.label}: the start positions leave it open by {value:.3g} {unit}; {CURE}"
        if not opening.velocity.closed:
            value, unit, _ = opening.velocity
            yield f"{opening.label}: the start velocities open it with {value:.3g} {unit}; {CURE}"
