"""Machines whose forces have kinks: a belt of segments on pulleys, a track on wheels, a frame of beams on unilateral
tyres. All are planar and of round numbers; friction and contact make Newton's iteration fail now and then.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import mbdfmu as mbd
from mbdfmu import Body, Marker, Model
from mbdfmu.forces import Beam, Bushing, Rotational, SpherePlane, SphereSphere, Translational, VectorForce
from mbdfmu.joints import Prismatic, Revolute

Place = tuple[float, float]


class Pulley(NamedTuple):
    centre: Place
    radius: float
    side: int  # of the belt that touches it: 1 inside, -1 its back
    mass: float
    inertia: float


PULLEYS = {
    "crank": Pulley((0.0, 0.0), 0.08, 1, 2.0, 1e-2),
    "water": Pulley((0.02, 0.22), 0.055, 1, 0.8, 1.2e-3),
    "alternator": Pulley((-0.18, 0.20), 0.03, 1, 0.6, 3e-4),
    "tension": Pulley((-0.125, 0.06), 0.035, -1, 0.3, 2e-4),
}
THICKNESS = 0.002


class Loop:
    """The line of a belt about pulleys, by the way along it."""

    def __init__(self) -> None:
        pulleys = list(PULLEYS.values())
        radii = [p.radius + THICKNESS for p in pulleys]
        normals = []
        for i, p in enumerate(pulleys):
            j = (i + 1) % len(pulleys)
            d = (pulleys[j].centre[0] - p.centre[0], pulleys[j].centre[1] - p.centre[1])
            lean = math.acos((p.side * radii[i] - pulleys[j].side * radii[j]) / math.hypot(*d))
            normals.append(math.atan2(d[1], d[0]) - lean)
        self.pieces: list[Any] = []
        for i, p in enumerate(pulleys):
            swept = ((normals[i] - normals[i - 1]) * p.side) % (2 * math.pi)
            self.pieces.append((p, radii[i], normals[i - 1], radii[i] * swept))
            j = (i + 1) % len(pulleys)
            ends = [on(pulleys[k], radii[k], normals[i]) for k in (i, j)]
            self.pieces.append((*ends, normals[i], math.dist(*ends)))
        self.length = sum(piece[-1] for piece in self.pieces)

    def pose(self, way: float) -> tuple[float, float, float]:
        way %= self.length
        for a, b, angle, length in self.pieces:
            if way <= length and isinstance(a, Pulley):
                turned = angle + a.side * way / b
                return *on(a, b, turned), turned + math.pi / 2
            if way <= length:
                part = way / length
                return a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]), angle + math.pi / 2
            way -= length
        raise AssertionError(way)


def on(p: Pulley, radius: float, angle: float) -> Place:
    return p.centre[0] + p.side * radius * math.cos(angle), p.centre[1] + p.side * radius * math.sin(angle)


def belt(torque: float = 3.0, segments: int = 100) -> Model:
    """A ribbed belt that drives a water pump and an alternator, held tight by a pulley on a sprung arm."""
    m = Model("belt", gravity=(0, -9.81))
    for name in ("crank", "water", "alternator"):
        p = PULLEYS[name]
        m.add(name, Body(mass=p.mass, inertia=p.inertia, position=p.centre))
        m.add(f"{name}_axle", Revolute(i=Marker(body="ground", at=p.centre), j=Marker(body=name)))
    p, pivot = PULLEYS["tension"], (-0.10, 0.13)
    arm = (p.centre[0] - pivot[0], p.centre[1] - pivot[1])
    length, angle = math.hypot(*arm), math.atan2(arm[1], arm[0])
    middle = (pivot[0] + arm[0] / 2, pivot[1] + arm[1] / 2)
    m.add("arm", Body(mass=0.3, inertia=0.3 * length**2 / 12, position=middle, angle=angle))
    m.add("pivot", Revolute(i=Marker(body="ground", at=pivot), j=Marker(body="arm", at=(-length / 2, 0))))
    m.add("tension", Body(mass=p.mass, inertia=p.inertia, position=p.centre))
    m.add("tension_axle", Revolute(i=Marker(body="arm", at=(length / 2, 0)), j=Marker(body="tension")))
    ground = Marker(body="ground")
    spring = Rotational(i=ground, j=Marker(body="arm"), stiffness=150.0, damping=0.5, free_angle=angle + 0.2)
    m.add("tensioner", spring)
    torques = {
        "crank": f"{torque}*step(time,0,0,0.05,1)",
        "alternator": "-0.3*tanh(alternator.omega/5)",
        "water": "-0.5*tanh(water.omega/5)",
    }
    for name, law in torques.items():
        m.add(f"torque_{name}", Rotational(i=ground, j=Marker(body=name), torque=law))
    add_segments(m, segments)
    return m


def add_segments(m: Model, count: int) -> None:
    loop = Loop()
    pitch = loop.length / count
    length, angle = pitch * (1 - 6e-3), None
    for k in range(count):
        x, y, found = loop.pose((k + 0.5) * pitch)
        angle = found if angle is None else angle + ((found - angle + math.pi) % (2 * math.pi) - math.pi)
        inertia = 0.1 * length**3 / 12
        m.add(f"s{k}", Body(mass=0.1 * length, inertia=inertia, position=(x, y), angle=angle))
    for k in range(count):
        after = (k + 1) % count
        tie = Bushing(
            i=Marker(body=f"s{k}", at=(length / 2, 0)), j=Marker(body=f"s{after}", at=(-length / 2, 0)),
            stiffness=(5e5, 1e5), damping=(200.0, 100.0), torsional_stiffness=0.3, torsional_damping=3e-4,
            free_rotation=0.0 if after else -2 * math.pi,
        )  # fmt: skip
        m.add(f"b{k}", tie)
        for name, p in PULLEYS.items():
            touch = SphereSphere(
                i=Marker(body=name), j=Marker(body=f"s{k}"), radius_i=p.radius, radius_j=THICKNESS, normal="linear",
                stiffness=1e6, damping=100.0, coefficient=0.8, creep_speed=1e-2,
            )  # fmt: skip
            m.add(f"c{k}{name}", touch)


def track(shoes: int = 54) -> Model:
    """A crawler: shoes on hinges about a sprocket, an idler and five rollers of a frame, on the ground."""
    radius, thickness, base, small = 0.45, 0.05, 3.0, 0.2
    m, height, pitch_radius = Model("track", gravity=(0, -9.81)), radius + 2 * thickness, radius + thickness
    m.add("frame", Body(mass=4000, inertia=3000, position=(base / 2, height)))
    rollers = [(f"roller{k}", 0.5 * (k + 1), small, height - radius + small) for k in range(5)]
    wheels = [("sprocket", 0.0, radius, height), ("idler", base, radius, height), *rollers]
    for name, x, r, y in wheels:
        m.add(name, Body(mass=200 * r / radius, inertia=100 * r**2, position=(x, y)))
        hub = Marker(body="frame", at=(x - base / 2, y - height))
        m.add(f"{name}_axle", Revolute(i=hub, j=Marker(body=name)))
    half = math.pi * pitch_radius
    pitch = (2 * base + 2 * half) / shoes

    def pose(way: float) -> tuple[float, float, float]:
        if way < base:
            return way, height - pitch_radius, 0.0
        if way < base + half:
            a = (way - base) / pitch_radius
            return base + pitch_radius * math.sin(a), height - pitch_radius * math.cos(a), a
        if way < 2 * base + half:
            return 2 * base + half - way, height + pitch_radius, math.pi
        a = (way - 2 * base - half) / pitch_radius
        return -pitch_radius * math.sin(a), height + pitch_radius * math.cos(a), math.pi + a

    for k in range(shoes):
        x, y, angle = pose((k + 0.5) * pitch)
        m.add(f"s{k}", Body(mass=30, inertia=0.3, position=(x, y), angle=angle))
    contact = {"normal": "linear", "stiffness": 2e7}
    for k in range(shoes):
        i = Marker(body=f"s{k}", at=(pitch / 2 * 1.004, 0))
        j = Marker(body=f"s{(k + 1) % shoes}", at=(-pitch / 2 * 1.004, 0))
        if k < shoes - 1:
            m.add(f"h{k}", Revolute(i=i, j=j))
        else:
            m.add(f"h{k}", Bushing(i=i, j=j, stiffness=(1e8, 1e8), damping=(1e5, 1e5)))
        for name, _, r, _ in wheels:
            touch = SphereSphere(
                i=Marker(body=name), j=Marker(body=f"s{k}"), radius_i=r, radius_j=thickness, damping=5e4,
                coefficient=0.6, creep_speed=2e-2, **contact,
            )  # fmt: skip
            m.add(f"c{k}{name}", touch)
        floor = SpherePlane(
            i=Marker(body="ground"), j=Marker(body=f"s{k}"), radius=thickness, axis=(0, 1), damping=1e5,
            coefficient=0.7, creep_speed=2e-2, **contact,
        )  # fmt: skip
        m.add(f"g{k}", floor)
    law = "-20000*(sprocket.omega-frame.omega+1*step(time,0.5,0,1.5,1))"
    m.add("motor", Rotational(i=Marker(body="frame"), j=Marker(body="sprocket"), torque=law))
    return m


def frame(parts: int = 24) -> Model:
    """A frame of steel tubes with an engine and a rider, on two wheels that stand on shaking posts."""
    length, outer, inner = 1.3, 0.016, 0.014
    part, area = length / parts, math.pi * (outer**2 - inner**2) * 2
    second_moment = math.pi / 4 * (outer**4 - inner**4) * 2
    m = Model("frame", gravity=(0, -9.81), length=length)
    carried = {parts // 2: 60.0, parts // 2 + 3: 90.0, parts - 2: 14.0, 3: 10.0}
    for k in range(parts + 1):
        tube, load = 7850.0 * area * part * (0.5 if k in (0, parts) else 1.0), carried.get(k, 0.0)
        m.add(f"n{k}", Body(mass=tube + load, inertia=tube * part**2 / 12 + load * 0.01, position=(k * part, 0.6)))
    for i, j in pairwise(range(parts + 1)):
        tube_part = Beam(
            i=Marker(body=f"n{i}"), j=Marker(body=f"n{j}"), length=part, elastic_modulus=210e9, shear_modulus=81e9,
            area=area, second_moment=second_moment, damping=1e-6,
        )  # fmt: skip
        m.add(f"b{j}", tube_part)
    for name, k, phase in (("front", parts - 1, 0.0), ("rear", 1, math.pi)):
        m.add(name, Body(mass=15.0, inertia=0.4, position=(k * part, 0.28)))
        m.add(f"{name}_guide", Prismatic(i=Marker(body=f"n{k}"), j=Marker(body=name), axis=(0, 1)))
        strut = Translational(
            i=Marker(body=f"n{k}"), j=Marker(body=name), stiffness=30000.0, damping=1500.0, free_length=0.35
        )
        m.add(f"{name}_strut", strut)
        post = f"0.02*sin(8*pi*time+{phase})*step(time,0,0,.1,1)"
        law = (f"-2000*{name}.vx", f"2e5*max(0.29+{post}-{name}.y,0)^1.2-300*{name}.vy")
        m.add(f"{name}_tyre", VectorForce(i=Marker(body="ground"), j=Marker(body=name), force=law))
    return m


MACHINES: dict[str, tuple[Any, float]] = {"belt": (belt, 0.2), "track": (track, 0.3), "frame": (frame, 0.5)}


def advanced(model: Model, end: float, interval: float, **settings: Any) -> Any:
    """A simulation that has been asked for a row every `interval`."""
    simulation: mbd.Simulation = model.start(**settings)
    count = max(1, round(end / interval))
    for k in range(count):
        simulation.advance(end * (k + 1) / count)
    return simulation
