"""Equations of spatial mechanisms in plain NumPy, written by hand; must not share any equation with the package.

The wrenches of the joints (spatial_joints.py) give the constraints on velocities, W V = s, and with them the equations
of motion of index 1 (Newton, Euler, D'Alembert):

    M a = Q + W^T mu        W a = sdot - Wdot V        V = (v, omega) of every body

v is that of the centre of mass in ground axes, omega is in body axes. Wdot V is taken by a complex step along the
motion. Gaps only correct the drift at output times. Rows may repeat each other: mu is then the smallest one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp

from reference.spatial_joints import (
    GAPS,
    WRENCHES,
    Array,
    End,
    Frame,
    Link,
    Pair,
    Vector,
    driven_gap,
    matrix,
    push,
    quaternion,
    skew,
    unit,
)

Course = Callable[[float], tuple[float, float, float]]  # value, rate and second derivative of what is driven

TINY = 1e-30  # a complex step has no cancellation, so it may be as small as this
RANK = 1e-10  # of the largest singular value: rows below repeat others


@dataclass(frozen=True, kw_only=True)
class Body:
    """A rigid body; `centre` is its centre of mass in its frame, all else describes the frame at the start."""

    mass: float
    inertia: Vector  # 3 x 3, about the centre of mass, body axes
    centre: Vector = field(default_factory=lambda: np.zeros(3))
    position: Vector = field(default_factory=lambda: np.zeros(3))
    rotation: Vector = field(default_factory=lambda: np.eye(3))  # body axes -> ground axes
    velocity: Vector = field(default_factory=lambda: np.zeros(3))
    omega: Vector = field(default_factory=lambda: np.zeros(3))  # body axes


@dataclass(frozen=True, kw_only=True)
class Spring:
    """A spring and damper between two points."""

    i: End
    j: End
    stiffness: float
    free_length: float
    damping: float = 0.0


# ---------------------------------------------------------------- mechanisms


@dataclass(frozen=True)
class State:
    """Centres of mass, rotations, and velocities (v, omega) of all bodies; complex in a complex step."""

    r: Array  # n x 3
    R: Array  # n x 3 x 3
    V: Array  # 6 n

    def moved(self, step: complex, V: Array) -> State:
        """A small way along velocities; exact for complex steps."""
        parts = V.reshape(-1, 6)
        turned = [R + step * R @ skew(w) for R, w in zip(self.R, parts[:, 3:], strict=True)]
        return State(self.r + step * parts[:, :3], np.array(turned), self.V)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """All bodies' frames and all joints' reactions at one time."""

    t: float
    position: Vector  # n x 3, ground axes
    quaternion: Vector  # n x 4
    velocity: Vector
    omega: Vector  # body axes
    acceleration: Vector
    alpha: Vector  # body axes
    force: dict[str, Vector]  # of every link on its end j, in frame i
    torque: dict[str, Vector]  # about the origin of j
    multipliers: dict[str, Vector]  # mu of every link and relation


Relation = Sequence[tuple[Link, float]]  # what a sum of coordinates stays, each told by its driver, times factors


class Mechanism:
    """Bodies, links, springs and relations between joint coordinates, under gravity."""

    def __init__(
        self,
        bodies: Mapping[str, Body],
        links: Mapping[str, Link],
        *,
        gravity: Sequence[float] = (0, 0, 0),
        springs: Sequence[Spring] = (),
        relations: Mapping[str, Relation] | None = None,
        rates: Relation = (),
        length: float = 1.0,
    ) -> None:
        """`rates`: drivers and what their coordinates' rates are at the start.

        `length` weighs torques against forces where reactions are not unique.
        """
        self.bodies, self.links, self.springs, self.length = bodies, links, springs, length
        self.relations, self.rates = relations or {}, rates
        self.gravity = np.array(gravity, dtype=float)
        self.index = {name: k for k, name in enumerate(bodies)}
        self.parts = list(bodies.values())

    def start(self) -> State:
        """As the bodies say."""
        r = [b.position + b.rotation @ b.centre for b in self.parts]
        v = [b.velocity + b.rotation @ np.cross(b.omega, b.centre) for b in self.parts]
        V = [np.concatenate([u, b.omega]) for u, b in zip(v, self.parts, strict=True)]
        return State(np.array(r), np.array([b.rotation for b in self.parts]), np.concatenate(V))

    def frame(self, state: State, end: End) -> Frame:
        if end.body == "ground":
            return Frame(place=end.at, axes=end.turn)
        k = self.index[end.body]
        R = state.R[k]
        return Frame(place=state.r[k] + R @ (end.at - self.parts[k].centre), axes=R @ end.turn)

    def pair(self, state: State, link: Link) -> Pair:
        return Pair(i=self.frame(state, link.i), j=self.frame(state, link.j), link=link)

    def wrenches(self, state: State, link: Link) -> Array:
        """One in each row, in ground axes."""
        return np.array(WRENCHES[link.kind](self.pair(state, link)))

    def rows(self, state: State) -> Array:
        """W."""
        blocks = [np.zeros((0, 6 * len(self.parts)))]
        for link in self.links.values():
            blocks.append(self.block(state, link, self.wrenches(state, link)))
        for terms in self.relations.values():
            parts = [factor * self.block(state, link, self.wrenches(state, link)) for link, factor in terms]
            blocks.append(sum(parts[1:], start=parts[0]))
        return np.concatenate(blocks)

    def block(self, state: State, link: Link, wrenches: Array) -> Array:
        """What wrenches on the end j, and their opposite on i, do to all bodies."""
        place = self.frame(state, link.j).place
        block = np.zeros((len(wrenches), 6 * len(self.parts)), dtype=np.result_type(state.R, wrenches))
        for end, sign in ((link.i, -1), (link.j, 1)):
            if end.body == "ground":
                continue
            k = self.index[end.body]
            force, torque = wrenches[:, :3], wrenches[:, 3:]
            about_centre = torque + np.cross(place - state.r[k], force)
            block[:, 6 * k : 6 * k + 6] += sign * np.concatenate([force, about_centre @ state.R[k]], axis=1)
        return block

    def gaps(self, t: float, state: State) -> Array:
        """The constraints on positions."""
        values: list[Array] = []
        for link in self.links.values():
            pair = self.pair(state, link)
            values += GAPS[link.kind](pair)
            if "course" in link.data:
                values += driven_gap(pair, t)
        return np.array(values)

    def speeds(self, t: float, order: int) -> Vector:
        """s of W V = s for order 1, its rate for order 2."""
        values = []
        for name, count in self.counts.items():
            course = self.links[name].data.get("course") if name in self.links else None
            values += [course(t)[order]] if course else [0.0] * count
        return np.array(values)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Rows of every link and relation."""
        state = self.start()
        links = {name: len(self.wrenches(state, link)) for name, link in self.links.items()}
        return links | dict.fromkeys(self.relations, 1)

    @cached_property
    def matrix(self) -> Vector:
        """M."""
        M = np.zeros((6 * len(self.parts),) * 2)
        for k, body in enumerate(self.parts):
            own = slice(6 * k, 6 * k + 3)
            M[own, own] = body.mass * np.eye(3)
            own = slice(6 * k + 3, 6 * k + 6)
            M[own, own] = body.inertia
        return M

    def loads(self, state: State) -> Vector:
        """Q: weight, the gyroscopic torque and springs."""
        parts = state.V.reshape(-1, 6)
        gyroscopic = [-np.cross(w, b.inertia @ w) for b, w in zip(self.parts, parts[:, 3:], strict=True)]
        weights = [b.mass * self.gravity for b in self.parts]
        Q = np.concatenate([np.concatenate(pair) for pair in zip(weights, gyroscopic, strict=True)])
        for spring in self.springs:
            Q = Q + self.spring(state, spring)
        return Q

    def spring(self, state: State, spring: Spring) -> Vector:
        d = self.frame(state, spring.j).place - self.frame(state, spring.i).place
        link = Link(kind="distance", i=spring.i, j=spring.j)
        row = self.block(state, link, np.array(push(unit(d))))[0]  # rate of the length is row @ V
        pull = spring.stiffness * (np.sqrt(d @ d) - spring.free_length) + spring.damping * (row @ state.V)
        return np.asarray(-pull * row)

    # ---- motion

    def solution(self, t: float, state: State) -> tuple[Vector, Vector]:
        """a and mu."""
        W = self.rows(state)
        turning = np.imag(self.rows(state.moved(1j * TINY, state.V)) @ state.V) / TINY
        Q = self.loads(state)
        free = np.linalg.solve(self.matrix, Q)
        mu = self.smallest(W, self.speeds(t, 2) - turning - W @ free)
        return free + np.linalg.solve(self.matrix, W.T @ mu), mu

    def smallest(self, W: Vector, wanted: Vector) -> Vector:
        """mu of W M^-1 W^T mu = wanted with the smallest norm, torques over a length of the model."""
        if not len(W):
            return np.zeros(0)
        scaled = self.units[:, None] * W
        S = scaled @ np.linalg.solve(self.matrix, scaled.T)
        return np.asarray(np.linalg.lstsq(S, self.units * wanted, rcond=RANK)[0] * self.units)

    @cached_property
    def units(self) -> Vector:
        """What each multiplier is made of where it is told as a force: 1, or the model's length for pure torques."""
        state = self.start()
        wrenches = [w for link in self.links.values() for w in self.wrenches(state, link)]
        return np.array([1.0 if np.any(w[:3]) else self.length for w in wrenches] + [1.0] * len(self.relations))

    def rate(self, t: float, y: Vector) -> Vector:
        """y' of y = (r, e, v, omega) of every body."""
        state = self.unpacked(y)
        a, _ = self.solution(t, state)
        return self.packed_rate(y.reshape(-1, 13), state, a)

    def packed_rate(self, y: Vector, state: State, a: Vector) -> Vector:
        parts, rates = state.V.reshape(-1, 6), np.empty_like(y)
        w, e = parts[:, 3:], y[:, 3:7]
        rates[:, :3], rates[:, 7:] = parts[:, :3], a.reshape(-1, 6)
        rates[:, 3] = -0.5 * np.sum(e[:, 1:] * w, axis=1)
        rates[:, 4:7] = 0.5 * (e[:, :1] * w + np.cross(e[:, 1:], w))
        return rates.ravel()

    @staticmethod
    def unpacked(y: Vector) -> State:
        parts = y.reshape(-1, 13)
        return State(parts[:, :3], np.array([matrix(e) for e in parts[:, 3:7]]), parts[:, 7:].ravel())

    @staticmethod
    def packed(state: State) -> Vector:
        e = np.array([quaternion(R) for R in state.R])
        return np.concatenate([state.r, e, state.V.reshape(-1, 6)], axis=1).ravel()

    def corrected(self, t: float, state: State) -> State:
        """The nearest state that satisfies all constraints, in the norm of the masses."""
        e = np.array([quaternion(R) for R in state.R])
        for _ in range(20):
            gaps = self.gaps(t, state)
            if not len(gaps) or np.max(np.abs(gaps)) < 1e-14:
                break
            step = self.nearest(self.gap_rows(t, state), gaps)
            r = state.r - step.reshape(-1, 6)[:, :3]
            e = np.array([self.turned(e[k], -w) for k, w in enumerate(step.reshape(-1, 6)[:, 3:])])
            state = State(r, np.array([matrix(x) for x in e]), state.V)
        return self.with_speeds(state, self.rows(state), self.speeds(t, 1))

    def with_speeds(self, state: State, W: Vector, speeds: Vector) -> State:
        """The nearest velocities with W V = speeds."""
        return State(state.r, state.R, state.V - self.nearest(W, W @ state.V - speeds))

    def started(self) -> State:
        """The start, corrected, with the rates that are wanted."""
        state = self.corrected(0.0, self.start())
        rows = [self.block(state, link, self.wrenches(state, link)) for link, _ in self.rates]
        W = np.concatenate([self.rows(state), *rows])
        return self.with_speeds(state, W, np.array([*self.speeds(0.0, 1), *(rate for _, rate in self.rates)]))

    def gap_rows(self, t: float, state: State) -> Vector:
        """Derivatives of the gaps along V, by complex steps."""
        columns = [np.imag(self.gaps(t, state.moved(1j * TINY, u))) / TINY for u in np.eye(len(state.V))]
        return np.stack(columns, axis=-1)

    def nearest(self, G: Vector, wanted: Vector) -> Vector:
        """The smallest x with G x = wanted."""
        if not len(G):
            return np.zeros(G.shape[1])
        back = np.linalg.solve(self.matrix, G.T)
        return np.asarray(back @ np.linalg.lstsq(G @ back, wanted, rcond=RANK)[0])

    @staticmethod
    def turned(e: Vector, w: Vector) -> Vector:
        """The quaternion turned by a small rotation about its own axes."""
        new = e + 0.5 * np.concatenate([[-e[1:] @ w], e[0] * w + np.cross(e[1:], w)])
        return np.asarray(new / np.sqrt(new @ new))

    def run(self, times: Sequence[float], tolerance: float = 1e-12) -> list[Sample]:
        """The motion from time 0, corrected at the times asked for."""
        t, state = 0.0, self.started()
        samples = []
        for end in times:
            if end > t:
                y = solve_ivp(self.rate, (t, end), self.packed(state), method="DOP853", rtol=tolerance,
                              atol=tolerance / 10, t_eval=[end])  # fmt: skip
                if not y.success:
                    raise RuntimeError(y.message)
                t, state = end, self.corrected(end, self.unpacked(y.y[:, -1]))
            samples.append(self.sample(t, state))
        return samples

    def sample(self, t: float, state: State) -> Sample:
        """What bodies' frames and joints do at one state."""
        a, mu = self.solution(t, state)
        V, A = state.V.reshape(-1, 6), a.reshape(-1, 6)
        w, alpha = V[:, 3:], A[:, 3:]
        c = np.array([-b.centre for b in self.parts])
        whirl = np.cross(alpha, c) + np.cross(w, np.cross(w, c))
        force, torque, multipliers = self.reactions(state, mu)
        return Sample(
            t=t,
            position=state.r + np.einsum("kij,kj->ki", state.R, c),
            quaternion=np.array([quaternion(R) for R in state.R]),
            velocity=V[:, :3] + np.einsum("kij,kj->ki", state.R, np.cross(w, c)),
            omega=w,
            acceleration=A[:, :3] + np.einsum("kij,kj->ki", state.R, whirl),
            alpha=alpha,
            force=force,
            torque=torque,
            multipliers=multipliers,
        )

    def reactions(self, state: State, mu: Vector) -> tuple[dict[str, Vector], dict[str, Vector], dict[str, Vector]]:
        """Force and torque of every link, and the multipliers of all."""
        force, torque, multipliers, done = {}, {}, {}, 0
        for name, count in self.counts.items():
            multipliers[name] = mu[done : done + count]
            done += count
        for name, link in self.links.items():
            total = multipliers[name] @ self.wrenches(state, link)
            axes = self.frame(state, link.i).axes
            force[name], torque[name] = axes.T @ total[:3], axes.T @ total[3:]
        return force, torque, multipliers

    def energy(self, state: State) -> float:
        """Kinetic and potential."""
        stored = 0.0
        for spring in self.springs:
            d = self.frame(state, spring.j).place - self.frame(state, spring.i).place
            stored += 0.5 * spring.stiffness * (np.sqrt(d @ d) - spring.free_length) ** 2
        height = sum(b.mass * r @ self.gravity for b, r in zip(self.parts, state.r, strict=True))
        return float(0.5 * state.V @ self.matrix @ state.V - height + stored)
