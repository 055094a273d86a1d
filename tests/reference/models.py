"""Descriptions of the systems that the tests compare; planar.py holds the equations and must not read any from here."""

from __future__ import annotations

from math import cos, dist, pi, sin
from typing import Any

import mbdfmu.forces
import mbdfmu.joints  # noqa: F401  fills the families, so that descriptions can name their members
from mbdfmu.description import Description
from reference import planar

EARTH = [0, -9.81]


def bar(x: float, y: float, angle: float, length: float, mass: float, **motion: Any) -> dict[str, Any]:
    """A uniform bar whose near end lies at (x, y)."""
    centre = [x + length / 2 * cos(angle), y + length / 2 * sin(angle)]
    return {"mass": mass, "inertia": mass * length**2 / 12, "position": centre, "angle": angle, **motion}


def on(body: str, x: float = 0.0, y: float = 0.0, angle: float = 0.0) -> dict[str, Any]:
    return {"body": body, "at": [x, y], "angle": angle}


def link(kind: str, i: dict[str, Any], j: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": kind, "i": i, "j": j, **fields}


def spring(i: dict[str, Any], j: dict[str, Any], k: float, c: float, length: float) -> dict[str, Any]:
    return link("translational", i, j, stiffness=k, damping=c, free_length=length)


def model(name: str, **sections: Any) -> Description:
    return Description(**{"format_version": 1, "name": name, "gravity": EARTH, "length": 0.5, **sections})


def pendulum() -> Description:
    phi, omega = 0.3, 0.8
    velocity = [-omega * sin(phi) / 2, omega * cos(phi) / 2]
    return model(
        "pendulum",
        bodies={"bar": bar(0, 0, phi, 1.0, 2.0, velocity=velocity, omega=omega)},
        joints={"hinge": link("revolute", on("ground"), on("bar", -0.5))},
    )


def double_pendulum() -> Description:
    upper, lower = (0.3, 1.0, 1.5), (-0.7, 0.8, 0.9)  # angle, length, mass
    return model(
        "double_pendulum",
        bodies={"upper": bar(0, 0, *upper), "lower": bar(cos(0.3), sin(0.3), *lower)},
        joints={
            "shoulder": link("revolute", on("ground"), on("upper", -0.5)),
            "elbow": link("revolute", on("upper", 0.5), on("lower", -0.4)),
        },
    )


def slider_crank_bodies() -> Description:
    """Crank, rod and slider, closed by a slider joint along x."""
    crank, rod, theta = 0.3, 0.8, 1.0
    phi = -pi / 2 + 0.9
    pin = crank * cos(theta), crank * sin(theta)
    tip = pin[0] + rod * cos(phi), pin[1] + rod * sin(phi)
    return model(
        "slider_crank_bodies",
        bodies={
            "crank": bar(0, 0, theta, crank, 1.0),
            "rod": bar(*pin, phi, rod, 0.6),
            "slider": {"mass": 0.4, "inertia": 0.002, "position": tip},
        },
        joints={
            "bearing": link("revolute", on("ground"), on("crank", -crank / 2)),
            "crank_pin": link("revolute", on("crank", crank / 2), on("rod", -rod / 2)),
            "wrist_pin": link("revolute", on("rod", rod / 2), on("slider")),
            "guide": link("prismatic", on("ground", 0.0, tip[1]), on("slider"), axis=[1, 0]),
        },
        forces={"brake": link("rotational", on("ground"), on("crank"), damping=0.05, torque=0.4)},
    )


def spring_damper() -> Description:
    """Two free bodies between springs and dampers: no constraint at all."""
    twist = {"stiffness": 4, "damping": 0.05, "free_angle": -0.3, "torque": 0.2}
    return model(
        "spring_damper",
        bodies={
            "block": {"mass": 1.0, "inertia": 0.02, "position": [0.4, -0.3], "angle": 0.2, "velocity": [0.3, 0]},
            "arm": {"mass": 0.5, "inertia": 0.03, "position": [1.1, -0.8], "angle": -0.4, "omega": 1.0},
        },
        forces={
            "upper": spring(on("ground", 0.1, 0.2), on("block", -0.1, 0.1), 90, 0.8, 0.4),
            "side": spring(on("block", 0.15, -0.05), on("arm", -0.3, 0.02), 60, 0.5, 0.5),
            "far": spring(on("arm", 0.3), on("ground", 1.6, 0.1), 70, 0.3, 0.6) | {"force": 1.0},
            "twist": link("rotational", on("block"), on("arm", angle=0.1), **twist),
        },
    )


def mixed_joints() -> Description:
    """A block on an inclined slide carries a plate, a pin in a slot and a rod: every joint that planar.py knows."""
    axis, block = (0.8, 0.6), (0.16, 0.12)
    arm = (0.9, -0.35)
    rod_i, rod_j = (block[0] + 0.1, block[1]), (arm[0], arm[1] + 0.2)
    slot = (arm[0] + 0.3, arm[1] - 0.1)
    angle = 0.5  # of the plate, whose corner is the block's centre
    corner = 0.2 * cos(angle) - 0.1 * sin(angle), -0.2 * sin(angle) - 0.1 * cos(angle)
    return model(
        "mixed_joints",
        bodies={
            "block": {"mass": 1.0, "inertia": 0.02, "position": block},
            "plate": {"mass": 0.3, "inertia": 0.01, "position": [block[0] - 0.2, block[1] + 0.1], "angle": angle},
            "arm": {"mass": 0.6, "inertia": 0.03, "position": arm},
        },
        joints={
            "slide": link("prismatic", on("ground"), on("block"), axis=axis),
            "weld": link("fixed", on("block"), on("plate", *corner, -angle)),
            "rod": link("distance", on("block", 0.1), on("arm", 0, 0.2), length=dist(rod_i, rod_j)),
            "slot": link("point_on_line", on("arm", 0.3, -0.1, angle=0.4), on("ground", *slot), axis=[1, 0.5]),
        },
        forces={"holder": spring(on("ground"), on("block", 0.05, 0.02), 80, 2, 0.3)},
    )


# ---------------------------------------------------------------- in coordinates of their own


def constants(system: type[planar.System]) -> dict[str, float]:
    """The numbers of a hand-written system, as parameters."""
    return {name: v for name, v in vars(system).items() if isinstance(v, float) and name not in ("length", "l")}


def slider_crank() -> Description:
    q, _ = planar.SliderCrank().start()
    names = ("theta", "phi", "x", "y")
    parameters = {k: {"value": v} for k, v in constants(planar.SliderCrank).items()} | {"rod": {"value": 0.5}}
    return model(
        "slider_crank",
        length=planar.SliderCrank.length,
        parameters=parameters,
        coordinates={n: {"start": q[k], "unit": "rad" if k < 2 else "m"} for k, n in enumerate(names)}
        | {"y": {"start": q[3], "unit": "m", "force": "-m*g"}},
        mass={"theta": "J1", "phi": "J2", "x": "m", "y": "m"},
        constraints={
            "pin_x": "r*cos(theta) - (x - l1*cos(phi))",
            "pin_y": "r*sin(theta) - (y - l1*sin(phi))",
            "guide": "(rod - l1)*sin(phi) + y",
        },
    )


def double_pendulum_angles(velocity_terms: str = "derived") -> Description:
    """Two angles with M(q); `given` writes the velocity terms into the forces."""
    system = planar.DoublePendulum()
    q, v = system.start()
    terms = ("-s*der(lower)^2", "+s*der(upper)^2") if velocity_terms == "given" else ("", "")
    weights = ("-g*(m1/2 + m2)*l1*cos(upper)", "-g*m2*l2/2*cos(lower)")
    names = ("upper", "lower")
    forces = [w + t.replace("s*", "m2*l1*l2/2*sin(upper - lower)*") for w, t in zip(weights, terms, strict=True)]
    return model(
        "double_pendulum_angles",
        length=system.length,
        velocity_terms=velocity_terms,
        parameters={k: {"value": x} for k, x in constants(planar.DoublePendulum).items()},
        coordinates={n: {"start": q[k], "velocity": v[k], "force": forces[k]} for k, n in enumerate(names)},
        mass={"upper": "(m1/3 + m2)*l1^2", "lower": "m2*l2^2/3", "upper,lower": "m2*l1*l2/2*cos(upper - lower)"},
    )


def andrews() -> Description:
    """Seven angles with M(q); the velocity terms are derived from it."""
    q, _ = planar.Andrews().start()
    names = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
    x, y = "rr*cos(beta) - d*cos(beta + theta)", "rr*sin(beta) - d*sin(beta + theta)"
    sx, sy = "(sd*cos(gamma) + sc*sin(gamma) + xb - xc)", "(sd*sin(gamma) - sc*cos(gamma) + yb - yc)"
    pull = f"-c0*(1 - l0/sqrt({sx}^2 + {sy}^2))"
    spring = f"{pull}*({sx}*(sc*cos(gamma) - sd*sin(gamma)) + {sy}*(sd*cos(gamma) + sc*sin(gamma)))"
    forces = {"beta": "mom", "gamma": spring}
    return model(
        "andrews",
        length=planar.Andrews.length,
        parameters={k: {"value": v} for k, v in constants(planar.Andrews).items()},
        coordinates={n: {"start": q[k], "force": forces.get(n, "0")} for k, n in enumerate(names)},
        mass={
            "beta": "m1*ra^2 + m2*(rr^2 - 2*da*rr*cos(theta) + da^2) + i1 + i2",
            "beta,theta": "m2*(da^2 - da*rr*cos(theta)) + i2",
            "theta": "m2*da^2 + i2",
            "gamma": "m3*(sa^2 + sb^2) + i3",
            "phi": "m4*(e - ea)^2 + i4",
            "phi,delta": "m4*((e - ea)^2 + zt*(e - ea)*sin(phi)) + i4",
            "delta": "m4*(zt^2 + 2*zt*(e - ea)*sin(phi) + (e - ea)^2) + m5*(ta^2 + tb^2) + i4 + i5",
            "omega": "m6*(zf - fa)^2 + i6",
            "omega,epsilon": "m6*((zf - fa)^2 - u*(zf - fa)*sin(omega)) + i6",
            "epsilon": "m6*((zf - fa)^2 - 2*u*(zf - fa)*sin(omega) + u^2) + m7*(ua^2 + ub^2) + i6 + i7",
        },
        constraints={
            "B_x": f"{x} - ss*sin(gamma) - xb",
            "B_y": f"{y} + ss*cos(gamma) - yb",
            "H_x": f"{x} - e*sin(phi + delta) - zt*cos(delta) - xa",
            "H_y": f"{y} + e*cos(phi + delta) - zt*sin(delta) - ya",
            "T_x": f"{x} - zf*cos(omega + epsilon) - u*sin(epsilon) - xa",
            "T_y": f"{y} - zf*sin(omega + epsilon) + u*cos(epsilon) - ya",
        },
    )
