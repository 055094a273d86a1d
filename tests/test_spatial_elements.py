"""Spatial joints and models in the compiled core: kernels, symbols and differences must say the same.

Tangent derivatives are compared with differences along q o exp(theta), which `moved` makes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from reference.spatial_models import ENDS, JOINTS, RELATIONS, joint_model, relation_model

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel
from mbdfmu.description import Description
from mbdfmu.lowering import lower

EXACT, BY_DIFFERENCES = 1e-12, 1e-7
T = 0.3
MODELS = [name for name in mbd.models.names() if mbd.models.load(name).description.dimensions == 3]
Vector = np.ndarray

CASES: dict[str, Callable[[], Description]] = {
    **{f"{kind}-{ends}": lambda kind=kind, ends=ends: joint_model(kind, ends) for kind in JOINTS for ends in ENDS},
    **{kind: lambda kind=kind: relation_model(kind) for kind in RELATIONS},
    **{name: lambda name=name: mbd.models.load(name).description for name in MODELS},
}
each_case = pytest.mark.parametrize("case", CASES)


class Point:
    """A random state near the start: positions that do not fit the joints, thetas of a running step included."""

    def __init__(self, m: CompiledModel, q: Vector, *, thetas: bool = False) -> None:
        rng = np.random.default_rng(m.nv)
        self.q = m.moved(q, rng.uniform(-0.1, 0.1, m.nv))
        if thetas:
            rotations = [".theta_" in c.name for c in m.lowered.model.coordinates]
            self.q[: m.nv] += rng.uniform(-0.3, 0.3, m.nv) * rotations
        self.v, self.a, self.lam = (rng.uniform(-1, 1, n) for n in (m.nv, m.nv, m.nc))

    def residual(self, m: CompiledModel, q: Vector | None = None, v: Vector | None = None) -> Vector:
        return m.residual(T, self.q if q is None else q, self.v if v is None else v, self.a, self.lam)


def compiled(case: str, *, kernels: bool = True) -> tuple[CompiledModel, Vector]:
    m = CompiledModel(lower(CASES[case](), kernels=kernels))
    return m, m.start(assemble=True)[0]


def close(found: Vector, wanted: Vector, limit: float) -> None:
    size = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    assert np.max(np.abs(found - wanted), initial=0.0) <= limit * size


def differences(f: Callable[[Vector], Vector], n: int, step: float = 1e-5) -> Vector:
    """Derivatives by fourth-order central differences along the unit vectors."""
    columns = []
    for d in np.eye(n) * step:
        columns.append((8 * (f(d) - f(-d)) - (f(2 * d) - f(-2 * d))) / (12 * step))
    return np.array(columns).T


@each_case
def test_kernels_compute_what_the_symbols_say(case: str) -> None:
    (native, q), (symbolic, _) = compiled(case), compiled(case, kernels=False)
    p = Point(native, q, thetas=True)
    close(p.residual(native), p.residual(symbolic), EXACT)
    close(native.constraints(T, p.q), symbolic.constraints(T, p.q), EXACT)
    for mine, theirs in zip(native.rates(T, p.q, p.v), symbolic.rates(T, p.q, p.v), strict=True):
        close(mine, theirs, EXACT)
    matrices = [m.jacobian(T, p.q, p.v, p.a, p.lam, (0.7, 0.4, 0.2)).toarray() for m in (native, symbolic)]
    close(*matrices, EXACT)


@each_case
def test_derivatives_are_exact(case: str) -> None:
    """Of the equations of motion with their G^T lambda by positions and velocities, and of the constraint rows."""
    m, q = compiled(case)
    p, nv = Point(m, q), m.nv
    levels = m.system.levels
    by_q = differences(lambda d: p.residual(m, q=m.moved(p.q, d)), nv)
    by_v = differences(lambda d: p.residual(m, v=p.v + d), nv)
    matrix = m.jacobian(T, p.q, p.v, p.a, p.lam, (0, 0, 1)).toarray()
    close(matrix[:nv, :nv], by_q[:nv], BY_DIFFERENCES)
    rows = [nv + k for k, level in enumerate(levels) if level == 0]
    close(matrix[rows, :nv], by_q[rows], BY_DIFFERENCES)
    matrix = m.jacobian(T, p.q, p.v, p.a, p.lam, (0, 1, 0)).toarray()
    close(matrix[:nv, :nv], by_v[:nv], BY_DIFFERENCES)
    rows = [nv + k for k, level in enumerate(levels) if level == 1]
    close(matrix[rows, :nv], by_v[rows], BY_DIFFERENCES)


@each_case
def test_rates_and_acceleration_sides_are_exact(case: str) -> None:
    """G v + Phi_t and gamma, against the change of the rows along a motion."""
    m, q = compiled(case)
    p = Point(m, q)
    positions = np.array(m.system.levels) == 0
    speed, gamma = m.rates(T, p.q, p.v)

    def along(s: float) -> Vector:
        return m.moved(p.q, s * p.v)

    step = 1e-4
    slope = (m.constraints(T + step, along(step)) - m.constraints(T - step, along(-step))) / (2 * step)
    close(speed[positions], slope[positions], BY_DIFFERENCES)
    bent = -(m.rates(T + step, along(step), p.v)[0] - m.rates(T - step, along(-step), p.v)[0]) / (2 * step)
    above = np.array(m.system.levels) == 2
    close(gamma[~above], bent[~above], 10 * BY_DIFFERENCES)
