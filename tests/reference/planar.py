"""Equations of planar systems in plain NumPy, written by hand; must not share any equation with the package.

    M(q) a + G(t, q)^T lam = Q(t, q, v)        Phi(t, q) = 0        G = Phi_q

Bodies have (x, y, phi) of their centre of mass. Rows stand in the order of the description's joints and measure j
from i. All functions take complex arrays, so that every derivative can come from a complex step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import cos, sin, sqrt
from numpy.typing import NDArray

from mbdfmu.description import GROUND, Description, Force, Joint, Marker

Array = NDArray[np.complexfloating] | NDArray[np.floating]

TINY = 1e-30  # a complex step has no cancellation, so it may be as small as this


def derivative(f: Callable[[Array], Array], x: Array) -> NDArray[np.float64]:
    """df/dx by complex steps, exact to rounding; column k belongs to x[k]."""
    columns = [np.imag(f(x + 1j * TINY * unit)) / TINY for unit in np.eye(len(x))]
    return np.stack(columns, axis=-1)


def slope(f: Callable[[complex], Array], t: float) -> NDArray[np.float64]:
    """df/dt by a complex step."""
    return np.asarray(np.imag(f(t + 1j * TINY)) / TINY)


class Instant(NamedTuple):
    """What the equations of motion may depend on; X, Xdot and Y, which holds V and F, are empty in most systems."""

    t: complex
    q: Array
    v: Array
    a: Array
    lam: Array
    Xdot: Array
    X: Array
    Y: Array


def partial(f: Callable[[Instant], Array], at: Instant, name: str) -> NDArray[np.float64]:
    """The derivative of f by one of the vectors it depends on."""
    return derivative(lambda x: f(at._replace(**{name: x})), getattr(at, name))


class System(ABC):
    """Equations of motion of one model, and what follows from them."""

    length: float  # length scale of the model, m
    rotational: NDArray[np.bool_]  # coordinates in rad
    rotational_rows: NDArray[np.bool_]  # constraints in rad
    coupled = False  # whether there is more than q, v and lam in the equations

    @abstractmethod
    def mass(self, q: Array) -> Array:
        """M."""

    @abstractmethod
    def force(self, t: complex, q: Array, v: Array) -> Array:
        """Q."""

    @abstractmethod
    def constraints(self, t: complex, q: Array) -> Array:
        """Phi."""

    @abstractmethod
    def rows(self, t: complex, q: Array) -> Array:
        """G."""

    def load(self, at: Instant) -> Array:
        """Q where it depends on more than t, q and v ([Negrut05]: Pi F)."""
        return self.force(at.t, at.q, at.v)

    def differential(self, at: Instant) -> Array:
        """d = 0 determines Xdot ([Negrut05] eq. 8a)."""
        return np.zeros(0)

    def definitions(self, at: Instant) -> Array:
        """Y = f: the variables V and the forces F ([Negrut05] eqs. 8b and 8c)."""
        return np.zeros(0)

    def start_states(self) -> Array:
        """X at t = 0."""
        return np.zeros(0)

    def first_guess(self) -> Array:
        """Near Y at t = 0."""
        return np.zeros(0)

    def residual(self, t: float, q: Array, v: Array, a: Array, lam: Array) -> Array:
        """[M a + G^T lam - Q; Phi]."""
        return np.concatenate(
            [self.mass(q) @ a + self.rows(t, q).T @ lam - self.force(t, q, v), self.constraints(t, q)]
        )

    def speed(self, t: complex, q: Array, v: Array) -> Array:
        """G v + Phi_t."""
        return self.rows(t, q) @ v + slope(lambda s: self.constraints(s, q), np.real(t))

    def gamma(self, t: float, q: Array, v: Array) -> Array:
        """The right side of G a = gamma, for constraints without time: -(G v)_q v ([Negrut05] eq. 7c)."""
        return -slope(lambda s: self.rows(t, q + s * v) @ v, 0.0)

    def accelerations(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """a and lam of the index-1 system."""
        G, M = self.rows(t, q), self.mass(q)
        matrix = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
        x = np.linalg.solve(matrix, np.concatenate([self.force(t, q, v), self.gamma(t, q, v)]))
        return x[: len(q)], x[len(q) :]

    def consistent(self, t: float, q: Array, v: Array, X: Array) -> Instant:
        """The index-1 system solved jointly for a, lam, Xdot and Y, by Newton's iteration."""
        if not self.coupled:
            a, lam = self.accelerations(t, q, v)
            return Instant(t, q, v, a, lam, X, X, X)
        a, lam = np.zeros(len(q)), np.zeros(len(self.constraints(t, q)))
        at = Instant(t, q, v, a, lam, np.zeros(len(X)), X, self.first_guess())
        names = ("a", "lam", "Xdot", "Y")

        def rows(at: Instant) -> Array:
            balance = M @ at.a + G.T @ at.lam - self.load(at)
            return np.concatenate([balance, G @ at.a - gamma, self.differential(at), at.Y - self.definitions(at)])

        M, G, gamma = self.mass(q), self.rows(t, q), self.gamma(t, q, v)
        places = np.cumsum([len(getattr(at, name)) for name in names])[:-1]
        for _ in range(50):
            matrix = np.hstack([partial(rows, at, name) for name in names if len(getattr(at, name))])
            delta = np.linalg.solve(matrix, -rows(at))
            parts = np.split(delta, places)
            at = at._replace(**{name: getattr(at, name) + d for name, d in zip(names, parts, strict=True)})
            if np.all(np.abs(delta) <= 1e-13 * (1 + np.max(np.abs(np.concatenate([getattr(at, n) for n in names]))))):
                return at
        raise ArithmeticError("the index-1 system was not solved in 50 iterations")


# ---------------------------------------------------------------- bodies, joints, springs


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A marker at one configuration, seen from the ground."""

    body: int  # -1 for the ground
    arm: Array  # from the centre of mass
    place: Array
    angle: complex

    @property
    def moves(self) -> Array:
        """d(place)/d(x, y, phi)."""
        return np.array([[1, 0, -self.arm[1]], [0, 1, self.arm[0]]])


def turned(angle: complex, vector: Sequence[float] | Array) -> Array:
    """The vector in ground axes."""
    c, s = cos(angle), sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])


def unit(vector: Array) -> Array:
    return vector / sqrt(vector @ vector)


Rows = tuple[Array, Array, Array]  # Phi, its derivatives by the coordinates of i and of j
TURN = np.array([[0.0, 0.0, 1.0]])


def same_place(i: Frame, j: Frame, _: Joint) -> Rows:
    return j.place - i.place, -i.moves, j.moves


def same_angle(i: Frame, j: Frame, _: Joint) -> Rows:
    return np.array([j.angle - i.angle]), -TURN, TURN


def on_line(i: Frame, j: Frame, joint: Joint) -> Rows:
    axis = unit(np.array(numbers(joint.axis)))
    n = turned(i.angle, (-axis[1], axis[0]))
    d, n_phi = j.place - i.place, np.array([-n[1], n[0]])
    return np.array([n @ d]), (-n @ i.moves + n_phi @ d * TURN[0])[None], (n @ j.moves)[None]


def same_distance(i: Frame, j: Frame, joint: Joint) -> Rows:
    d = j.place - i.place
    u = unit(d)
    return np.array([sqrt(d @ d) - numbers(joint.length)]), -(u @ i.moves)[None], (u @ j.moves)[None]


JOINTS = {
    "revolute": (same_place,),
    "prismatic": (same_angle, on_line),
    "fixed": (same_place, same_angle),
    "point_on_line": (on_line,),
    "distance": (same_distance,),
}


def spring(i: Frame, j: Frame, vi: Array, vj: Array, force: Force) -> tuple[Array, Array]:
    """What a translational spring gives to the coordinates of i and j."""
    d = j.place - i.place
    u = unit(d)
    rate = u @ (j.moves @ vj - i.moves @ vi)
    stretch = sqrt(d @ d) - numbers(force.free_length)
    push = numbers(force.force) - numbers(force.stiffness) * stretch - numbers(force.damping) * rate
    return -push * u @ i.moves, push * u @ j.moves


def torsion_spring(i: Frame, j: Frame, vi: Array, vj: Array, force: Force) -> tuple[Array, Array]:
    """What a rotational spring gives to the coordinates of i and j."""
    twist, rate = j.angle - i.angle - numbers(force.free_angle), vj[2] - vi[2]
    torque = numbers(force.torque) - numbers(force.stiffness) * twist - numbers(force.damping) * rate
    return -torque * TURN[0], torque * TURN[0]


def bushing(i: Frame, j: Frame, vi: Array, vj: Array, force: Force) -> tuple[Array, Array]:
    """What springs and dampers along and about the axes of i give to the coordinates of i and j."""
    d, inwards = j.place - i.place, np.array([turned(-i.angle, axis) for axis in np.eye(2)]).T
    moves_i = i.moves + np.outer([-d[1], d[0]], TURN[0])  # of the point of i that lies at that of j
    rate = inwards @ (j.moves @ vj - moves_i @ vi)
    stretch = inwards @ d - np.array(numbers(force.free_displacement))
    push = np.array(numbers(force.force)) - numbers(force.stiffness) * stretch - numbers(force.damping) * rate
    twist, k, c = j.angle - i.angle - numbers(force.free_rotation), force.torsional_stiffness, force.torsional_damping
    torque = numbers(force.torque) - numbers(k) * twist - numbers(c) * (vj[2] - vi[2])
    onto = push @ inwards
    return -onto @ moves_i - torque * TURN[0], onto @ j.moves + torque * TURN[0]


FORCES = {"translational": spring, "rotational": torsion_spring, "bushing": bushing}


def numbers(value: object) -> object:
    """A number or a pair of them: this module knows no expressions."""
    if isinstance(value, tuple):
        return tuple(numbers(v) for v in value)
    if not isinstance(value, float):
        raise TypeError(f"planar.py takes numbers only, found {value!r}")
    return value


class Planar(System):
    """A description of bodies, joints and linear springs, in numbers."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.index = {GROUND: -1} | {name: k for k, name in enumerate(description.bodies)}
        bodies = description.bodies.values()
        self.masses = np.array([m for b in bodies for m in numbers((b.mass, b.mass, b.inertia))])
        self.weight = self.masses * np.array([*numbers(description.gravity), 0.0] * len(bodies))
        self.primitives = [(joint, p) for joint in description.joints.values() for p in JOINTS[joint.type_name]]
        self.length = numbers(description.length) if description.length is not None else 1.0
        self.rotational = np.array([False, False, True] * len(bodies))
        kinds = [[p is same_angle] * (2 if p is same_place else 1) for _, p in self.primitives]
        self.rotational_rows = np.array([k for rows in kinds for k in rows], dtype=bool)

    def start(self) -> tuple[Array, Array]:
        """q and v as described."""
        bodies = self.description.bodies.values()
        return (
            np.array([x for b in bodies for x in numbers((*b.position, b.angle))]),
            np.array([x for b in bodies for x in numbers((*b.velocity, b.omega))]),
        )

    def frame(self, q: Array, end: Marker | str) -> Frame:
        marker = self.description.marker(end)
        body, at, turn = self.index[marker.body], numbers(marker.at), numbers(marker.angle)
        x, y, phi = part(q, body)
        arm = turned(phi, at)
        return Frame(body=body, arm=arm, place=np.array([x, y]) + arm, angle=phi + turn)

    def mass(self, q: Array) -> Array:
        return np.diag(self.masses)

    def force(self, t: complex, q: Array, v: Array) -> Array:
        total = self.weight + 0 * q * v  # complex where q or v is
        for force in self.description.forces.values():
            i, j = self.frame(q, force.i), self.frame(q, force.j)
            on = FORCES[force.type_name](i, j, part(v, i.body), part(v, j.body), force)
            for end, share in zip((i, j), on, strict=True):
                if end.body >= 0:
                    total[3 * end.body : 3 * end.body + 3] += share
        return total

    def constraints(self, t: complex, q: Array) -> Array:
        values = [p(self.frame(q, joint.i), self.frame(q, joint.j), joint)[0] for joint, p in self.primitives]
        return np.concatenate([np.empty(0), *values])

    def rows(self, t: complex, q: Array) -> Array:
        blocks = [np.empty((0, len(q)))]
        for joint, primitive in self.primitives:
            i, j = self.frame(q, joint.i), self.frame(q, joint.j)
            value, by_i, by_j = primitive(i, j, joint)
            block = np.zeros((len(value), len(q)), dtype=np.result_type(q))
            for end, by_end in ((i, by_i), (j, by_j)):
                if end.body >= 0:
                    block[:, 3 * end.body : 3 * end.body + 3] = by_end
            blocks.append(block)
        return np.concatenate(blocks)


def part(q: Array, body: int) -> Array:
    """The coordinates of one body; the ground's are zero."""
    return q[3 * body : 3 * body + 3] if body >= 0 else np.zeros(3)


# ---------------------------------------------------------------- systems in coordinates of their own


class SliderCrank(System):
    """The slider-crank of [Wu00] eqs. 35, 36 in (theta, phi, x, y), with constant masses."""

    length = 0.3
    rotational = np.array([True, True, False, False])
    rotational_rows = np.zeros(3, dtype=bool)
    J1, J2, m, r, l, l1, g = 0.045, 33 / 4800, 1.0, 0.3, 0.5, 0.3, 9.81  # noqa: E741  as in the paper

    def start(self) -> tuple[Array, Array]:
        """At rest with the exact values of what the paper prints with four digits."""
        theta, phi = np.arcsin(5 / 6), -np.pi / 6
        return np.array([theta, phi, self.r * cos(theta) + self.l1 * cos(phi), 0.1]), np.zeros(4)

    def mass(self, q: Array) -> Array:
        return np.diag([self.J1, self.J2, self.m, self.m])

    def force(self, t: complex, q: Array, v: Array) -> Array:
        return np.array([0.0, 0.0, 0.0, -self.m * self.g])

    def constraints(self, t: complex, q: Array) -> Array:
        theta, phi, x, y = q
        return np.array([self.r * cos(theta) - (x - self.l1 * cos(phi)),
                         self.r * sin(theta) - (y - self.l1 * sin(phi)),
                         (self.l - self.l1) * sin(phi) + y])  # fmt: skip

    def rows(self, t: complex, q: Array) -> Array:
        theta, phi, _, _ = q
        return np.array([[-self.r * sin(theta), -self.l1 * sin(phi), -1, 0],
                         [self.r * cos(theta), self.l1 * cos(phi), 0, -1],
                         [0, (self.l - self.l1) * cos(phi), 0, 1]])  # fmt: skip


class DoublePendulum(System):
    """Two uniform bars in their absolute angles: M(q) without constraints."""

    length = 1.0
    rotational = np.array([True, True])
    rotational_rows = np.zeros(0, dtype=bool)
    m1, m2, l1, l2, g = 1.2, 0.7, 0.9, 0.6, 9.81

    def start(self) -> tuple[Array, Array]:
        return np.array([0.4, -0.3]), np.array([0.5, -1.0])

    def mass(self, q: Array) -> Array:
        coupling = self.m2 * self.l1 * self.l2 / 2 * cos(q[0] - q[1])
        return np.array([[(self.m1 / 3 + self.m2) * self.l1**2, coupling], [coupling, self.m2 * self.l2**2 / 3]])

    def force(self, t: complex, q: Array, v: Array) -> Array:
        s = self.m2 * self.l1 * self.l2 / 2 * sin(q[0] - q[1])
        weight = self.g * np.array([(self.m1 / 2 + self.m2) * self.l1 * cos(q[0]), self.m2 * self.l2 / 2 * cos(q[1])])
        return np.array([-s * v[1] ** 2, s * v[0] ** 2]) - weight

    def constraints(self, t: complex, q: Array) -> Array:
        return np.zeros(0)

    def rows(self, t: complex, q: Array) -> Array:
        return np.zeros((0, 2))


class Andrews(System):
    """Andrews' squeezing mechanism in seven angles: problem "andrews" of the test set for initial value problems."""

    length = 0.04
    rotational = np.ones(7, dtype=bool)
    rotational_rows = np.zeros(6, dtype=bool)
    m1, m2, m3, m4, m5, m6, m7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
    i1, i2, i3, i4, i5, i6, i7 = 2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5
    xa, ya, xb, yb, xc, yc, c0, l0 = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072, 4530.0, 0.07785
    d, da, e, ea, rr, ra = 28e-3, 115e-4, 2e-2, 1421e-5, 7e-3, 92e-5
    ss, sa, sb, sc, sd, ta, tb = 35e-3, 1874e-5, 1043e-5, 18e-3, 2e-2, 2308e-5, 916e-5
    u, ua, ub, zf, zt, fa, mom = 4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5, 33e-3

    def start(self) -> tuple[Array, Array]:
        omega, epsilon = 0.222668390165885884674473185609, 1.23054744454982119249735015568
        gamma, delta = 0.455279819163070380255912382449, 0.487364979543842550225598953530
        return np.array([-0.0617138900142764496358948458001, 0, gamma, omega, delta, -omega, epsilon]), np.zeros(7)

    def mass(self, q: Array) -> Array:
        _, theta, _, phi, _, omega, _ = q
        M = np.zeros((7, 7), dtype=np.result_type(q))
        r = self.da * self.rr * cos(theta)
        M[0, 0] = self.m1 * self.ra**2 + self.m2 * (self.rr**2 - 2 * r + self.da**2) + self.i1 + self.i2
        M[1, 0] = M[0, 1] = self.m2 * (self.da**2 - r) + self.i2
        M[1, 1] = self.m2 * self.da**2 + self.i2
        M[2, 2] = self.m3 * (self.sa**2 + self.sb**2) + self.i3
        e = self.e - self.ea
        M[3, 3] = self.m4 * e**2 + self.i4
        z = self.zt * e * sin(phi)
        M[4, 3] = M[3, 4] = self.m4 * (e**2 + z) + self.i4
        M[4, 4] = self.m4 * (self.zt**2 + 2 * z + e**2) + self.m5 * (self.ta**2 + self.tb**2) + self.i4 + self.i5
        f = self.zf - self.fa
        M[5, 5] = self.m6 * f**2 + self.i6
        w = self.u * f * sin(omega)
        M[6, 5] = M[5, 6] = self.m6 * (f**2 - w) + self.i6
        M[6, 6] = self.m6 * (f**2 - 2 * w + self.u**2) + self.m7 * (self.ua**2 + self.ub**2) + self.i6 + self.i7
        return M

    def force(self, t: complex, q: Array, v: Array) -> Array:
        _, theta, gamma, phi, _, omega, _ = q
        vb, vt, _, vp, vd, vo, ve = v
        x = self.sd * cos(gamma) + self.sc * sin(gamma) + self.xb
        y = self.sd * sin(gamma) - self.sc * cos(gamma) + self.yb
        long = sqrt((x - self.xc) ** 2 + (y - self.yc) ** 2)
        fx, fy = (-self.c0 * (long - self.l0) / long * w for w in (x - self.xc, y - self.yc))
        e, f = self.m4 * self.zt * (self.e - self.ea), self.m6 * self.u * (self.zf - self.fa)
        r = self.m2 * self.da * self.rr
        return np.array([
            self.mom - r * vt * (vt + 2 * vb) * sin(theta),
            r * vb**2 * sin(theta),
            fx * (self.sc * cos(gamma) - self.sd * sin(gamma)) + fy * (self.sd * cos(gamma) + self.sc * sin(gamma)),
            e * vd**2 * cos(phi),
            -e * vp * (vp + 2 * vd) * cos(phi),
            -f * ve**2 * cos(omega),
            f * vo * (vo + 2 * ve) * cos(omega),
        ])  # fmt: skip

    def constraints(self, t: complex, q: Array) -> Array:
        b, th, g, p, dl, o, ep = q
        x, y = self.rr * cos(b) - self.d * cos(b + th), self.rr * sin(b) - self.d * sin(b + th)
        return np.array([
            x - self.ss * sin(g) - self.xb,
            y + self.ss * cos(g) - self.yb,
            x - self.e * sin(p + dl) - self.zt * cos(dl) - self.xa,
            y + self.e * cos(p + dl) - self.zt * sin(dl) - self.ya,
            x - self.zf * cos(o + ep) - self.u * sin(ep) - self.xa,
            y - self.zf * sin(o + ep) + self.u * cos(ep) - self.ya,
        ])  # fmt: skip

    def rows(self, t: complex, q: Array) -> Array:
        b, th, g, p, dl, o, ep = q
        x = -self.rr * sin(b) + self.d * sin(b + th), self.d * sin(b + th)  # by beta, by theta
        y = self.rr * cos(b) - self.d * cos(b + th), -self.d * cos(b + th)
        e, f = self.e * np.array([cos(p + dl), sin(p + dl)]), self.zf * np.array([sin(o + ep), -cos(o + ep)])
        return np.array([
            [*x, -self.ss * cos(g), 0, 0, 0, 0],
            [*y, -self.ss * sin(g), 0, 0, 0, 0],
            [*x, 0, -e[0], -e[0] + self.zt * sin(dl), 0, 0],
            [*y, 0, -e[1], -e[1] - self.zt * cos(dl), 0, 0],
            [*x, 0, 0, 0, f[0], f[0] - self.u * cos(ep)],
            [*y, 0, 0, 0, f[1], f[1] - self.u * sin(ep)],
        ])  # fmt: skip
