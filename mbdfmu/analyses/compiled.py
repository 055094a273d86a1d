"""A compiled model: the native system with its names; for analyses, and for people who write their own scheme.

It must not know how time is stepped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.callbacks import called
from mbdfmu.analyses.native import _solver, translated
from mbdfmu.analyses.redundancy import Redundancy, redundancies
from mbdfmu.analyses.settings import Settings
from mbdfmu.lowering import Lowered

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Vector = NDArray[np.float64]


class CompiledModel:
    """Equations of a model in arrays: M a + G^T lam = Q, Phi = 0.

    Coordinates and constraints are numbered as in `labels`. In spatial models q holds nv numbers (zeros for the
    rotations theta) and then the quaternions of the bodies: `moved` applies an increment. One object serves one thread.
    """

    def __init__(self, lowered: Lowered, *, allow_python: bool = False) -> None:
        self.lowered = lowered
        self.functions = called(lowered.model.functions, allowed=allow_python)
        with translated(f"model '{lowered.model.description.name}': "):
            self.system = _solver.System(lowered.blob)
            self._native = _solver.Simulation(self.system, *Settings().native(), functions=self.functions)

    @property
    def nv(self) -> int:
        """Number of coordinates."""
        return int(self.system.nv)

    @property
    def nq(self) -> int:
        """Number of positions: one for every coordinate, then four for the orientation of every spatial body."""
        return int(self.system.nq)

    @property
    def nc(self) -> int:
        """Number of constraint rows."""
        return int(self.system.nc)

    @property
    def length(self) -> float:
        """Length scale of the model (m) with the default parameters."""
        return float(self._native.length)

    @property
    def labels(self) -> list[str]:
        """Names of the coordinates, then of the constraints."""
        return list(self.system.labels)

    @property
    def constraint_labels(self) -> list[str]:
        """Names of the constraint rows."""
        return self.labels[self.nv : self.nv + self.nc]

    @property
    def holding(self) -> list[int]:
        """The constraint rows that are not off at the start."""
        constraints = self.lowered.model.constraints
        on = [c.active for c in constraints for primitive in c.primitives for _ in primitive.rows]
        return [k for k, active in enumerate(on) if active]

    @property
    def redundancies(self) -> list[Redundancy]:
        """Constraint rows that repeat others, after `start`."""
        return redundancies(self._native.redundancies, self.constraint_labels)

    @property
    def set_by_motions(self) -> list[str]:
        """What motions have set that was written otherwise, after `start`."""
        return list(self._native.set_by_motions)

    def moved(self, q: Vector, increment: Vector) -> Vector:
        """The positions after an increment of the coordinates (for spatial bodies a rotation in body axes)."""
        with translated():
            return np.asarray(self.system.moved(_vector(q), _vector(increment)))

    def start(self, assemble: bool = False, positions: Vector | None = None) -> tuple[Vector, Vector, Vector, Vector]:
        """Consistent q, v, a and lam at t = 0; `positions` replace those of the model, as a guess to assemble from."""
        given = [] if positions is None else _vector(positions).tolist()
        with translated():
            self._native.start(correct=assemble, positions=given)
        state = self._native.save()
        return state.q, state.v, state.a, state.lam

    def residual(self, t: float, q: Vector, v: Vector, a: Vector, lam: Vector, **solved: Vector) -> Vector:
        """[M a + G^T lam - Q; Phi; equations of states; equations of unknowns].

        `x`, `xdot` and `y` are the differential states, their rates, and the variables and forces that are unknowns.
        """
        return self._evaluated("residual", t, (q, v, a, lam), solved)

    def jacobian(
        self,
        t: float,
        q: Vector,
        v: Vector,
        a: Vector,
        lam: Vector,
        weights: Sequence[float] = (1, 0, 0, 0),
        **solved: Vector,
    ) -> csr_array:
        """Derivative of the residual where a, v, q, x move by the four weights; constraint rows hold G."""
        from scipy.sparse import coo_array

        moves = (*map(float, weights), 0.0)[:4]
        values = self._evaluated("derivative", t, (q, v, a, lam), solved, *moves)
        n = self.system.n
        return coo_array((values, (self.system.rows, self.system.cols)), shape=(n, n)).tocsr()

    def constraints(self, t: float, q: Vector) -> Vector:
        """Phi."""
        with translated():
            return np.asarray(self._native.constraints(t, _vector(q)))

    def rates(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """G v + Phi_t, and gamma with G a = gamma."""
        with translated():
            speed, gamma = self._native.rates(t, _vector(q), _vector(v))
        return speed, gamma

    def rate_derivatives(
        self, t: float, q: Vector, v: Vector, a: Vector | None = None
    ) -> tuple[csr_array, csr_array, csr_array]:
        """How `rates` change: (G v + Phi_t) by q, and gamma - G a by q and by v, each with nc rows and nv columns.

        Without `a` the last two are those of gamma. Derivatives by q are by increments as `moved` applies them: for
        spatial bodies by a small rotation in body axes.
        """
        from scipy.sparse import coo_array

        zero, states = np.zeros(self.nv), np.zeros(self.system.nx)
        motion = [_vector(x) for x in (q, v, zero if a is None else a)]
        with translated():
            rows, cols, values = self._native.rate_derivatives(t, *motion, states, states)
        kept = cols < self.nv
        shape, places = (self.nc, self.nv), (rows[kept] - self.nv, cols[kept])
        speed, bend, by_v = values.reshape(-1, 3)[kept].T
        by_q, of_gamma, by_v = (coo_array((x, places), shape=shape).tocsr() for x in (speed, -bend, -by_v))
        return by_q, of_gamma, by_v

    def reduced(self, h: float, w: Vector, *, simplified: bool = False) -> tuple[list[int], Vector, Vector]:
        """Implicit partitioning with the trapezoidal rule, one step from the state of `start` on ([Haug97] 3.2).

        For accelerations `w` of the coordinates that are unknowns at the end of the step: these coordinates, `w` less
        the accelerations that the equations give there, and the derivative of this difference by `w` (eq. 29 over the
        reduced mass; `simplified`: eq. 40). Without states.
        """
        with translated():
            unknowns, *_, a, _, rows = self._native.reduced(h, _vector(w).tolist(), simplified)
        return unknowns, _vector(w) - a[unknowns], rows.reshape(len(unknowns), len(unknowns))

    def _evaluated(
        self, name: str, t: float, motion: tuple[Vector, ...], solved: Mapping[str, Vector], *rest: float
    ) -> Vector:
        sizes = {"x": self.system.nx, "xdot": self.system.nx, "y": self.system.ny}
        if not solved.keys() <= sizes.keys():
            raise TypeError(f"x, xdot and y are known, found {', '.join(solved)}")
        with translated():
            vectors = [_vector(x) for x in motion]
            vectors += [_vector(solved.get(key, np.zeros(size))) for key, size in sizes.items()]
            return np.asarray(getattr(self._native, name)(t, *vectors, *rest))


def _vector(x: Any) -> Vector:
    return np.ascontiguousarray(x, dtype=np.float64)
