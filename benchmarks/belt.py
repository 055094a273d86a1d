"""A belt of segments round two pulleys, all contacts by penalties, beside a peer; must not know how either solves.

The laws of contact are not the same: friction over sliding speed is tanh here and a line that is cut off in Exudyn, and
Exudyn looks for touching pairs only. So each is held against its own converged speeds of the pulleys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from cases import Ours, Run
from timing import Record

from mbdfmu import Body, Marker, Model
from mbdfmu.forces import Bushing, Rotational, SphereSphere
from mbdfmu.joints import Revolute

PEER = "exudyn"
SEGMENTS, T_END = 100, 0.1
STEPS = (1e-3, 1e-4, 2e-5)  # s; without error control ours needs the last
TOLERANCES = (1e-4, 1e-5, 1e-6)
CONVERGED = {"ours": 5e-6, "peer": 1e-5}  # s, a step whose error does not count
REPEATS = 3
RADIUS, DISTANCE, THICKNESS, SHORTER = 0.1, 0.4, 0.002, 1e-3  # pulleys, m; half of the belt, m; free length, relative
TITLE = "belt on two pulleys, 100 bushings, 200 contacts: CPU time and error of the pulleys' speeds"


def build(count: int) -> Model:
    """Segments on bushings, two pulleys, one driven."""
    model = Model("belt", gravity=[0, -9.81])
    for n, x in enumerate((0.0, DISTANCE)):
        model.add(f"pulley{n}", Body(mass=1.0, inertia=5e-3, position=(x, 0)))
        model.add(f"axle{n}", Revolute(i=Marker(body="ground", at=(x, 0)), j=Marker(body=f"pulley{n}")))
    model.add("drive", Rotational(i=Marker(body="ground"), j=Marker(body="pulley0"), torque=1.0))
    pitch = (2 * math.pi * (RADIUS + THICKNESS) + 2 * DISTANCE) / count
    length = pitch * (1 - SHORTER)
    for k in range(count):
        x, y, angle = _pose((k + 0.5) * pitch)
        inertia = 0.2 * length**3 / 12
        model.add(f"segment{k}", Body(mass=0.2 * length, inertia=inertia, position=(x, y), angle=angle))
    for k in range(count):
        _join(model, k, count, length / 2)
    return model


def _join(model: Model, k: int, count: int, half: float) -> None:
    """A segment with the next and with both pulleys."""
    here, after = Marker(body=f"segment{k}"), (k + 1) % count
    ends = Marker(body=here.body, at=(half, 0)), Marker(body=f"segment{after}", at=(-half, 0))
    law = {"stiffness": (2e5, 1e5), "damping": (200.0, 100.0), "torsional_stiffness": 0.5, "torsional_damping": 5e-4}
    turn = 0.0 if after else -2 * math.pi
    model.add(f"bushing{k}", Bushing(i=ends[0], j=ends[1], free_rotation=turn, **law))
    touch = {"radius_i": RADIUS, "radius_j": THICKNESS, "normal": "linear", "stiffness": 1e6, "damping": 100.0,
             "coefficient": 0.5, "creep_speed": 1e-2}  # fmt: skip
    for n in (0, 1):
        model.add(f"contact{n}_{k}", SphereSphere(i=Marker(body=f"pulley{n}"), j=here, **touch))


def _pose(s: float) -> tuple[float, float, float]:
    """Place and angle of the middle line after a distance from below the first pulley."""
    radius = RADIUS + THICKNESS
    half = DISTANCE + math.pi * radius
    angle = max(s % half - DISTANCE, 0.0) / radius
    along = min(s % half, DISTANCE)
    x, y = along + radius * math.sin(angle), -radius * math.cos(angle)
    return (x, y, angle) if s < half else (DISTANCE - x, -y, angle + math.pi)


def measure(smallest: bool, peer: Any = None) -> dict[str, list[Record]]:
    """Tables by title."""
    if smallest:
        run = Ours(build(12)).run(1e-3)
        return {TITLE: [{"by": "mbdfmu, 12 segments", "CPU ms": 1e3 * run.cpu}]}
    ours = Ours(build(SEGMENTS))
    records = _records("mbdfmu", lambda **how: ours.run(T_END, alpha=-0.05, **how), CONVERGED["ours"], STEPS[2:])
    if peer is None:
        return {TITLE: records}
    system = peer.Peer(build(SEGMENTS))
    fastest = next(s for s in system.settings() if s.jacobian_each_step and not s.dense and s.relative == 1e-4)
    setting = replace(fastest, spectral_radius=0.6)  # with more, the contacts keep it from converging
    theirs = _records(peer.NAME, lambda step: system.run(T_END, step, setting), CONVERGED["peer"], STEPS, ())
    return {TITLE: [*records, *theirs]}


def _records(
    name: str,
    run: Callable[..., Run],
    converged: float,
    steps: tuple[float, ...],
    tolerances: tuple[float, ...] = TOLERANCES,
) -> list[Record]:
    wanted = _speeds(run(step=converged))
    records = []
    for how in [*({"step": h} for h in steps), *({"tolerance": t} for t in tolerances)]:
        runs = [run(**how) for _ in range(REPEATS)]
        best = min(runs, key=lambda r: r.cpu)
        text = ", ".join(f"{key} {value:.0e}" for key, value in how.items())
        found = {"steps": best.steps, "us/step": 1e6 * best.step_time, "CPU ms": 1e3 * best.cpu}
        off = float(np.max(np.abs(_speeds(best) - wanted)))
        records.append({"by": name, "how": text, **found, "error, rad/s": off, "converged, rad/s": float(wanted[0])})
    return records


def _speeds(run: Run) -> Any:
    assert run.v is not None
    return run.v[[2, 5]]
