"""Models with contacts, stiff dampers and jumps of force, on which estimates of local errors are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mbdfmu as mbd
from mbdfmu.description import Coordinate, Description, Event, Impact, Input, State

GROUND = {"body": "ground"}
RELEASE, WEIGHT = 0.8, 9.81


def model(**sections: Any) -> mbd.Model:
    return mbd.Model.from_description(Description(**{"format_version": 1, "name": "tried", "length": 1, **sections}))


def between(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "i": GROUND, "j": {"body": "ball"}, **fields}


def ball(**fields: Any) -> dict[str, Any]:
    return {"mass": 1, "inertia": 0.004, "free": True, **fields}


def cart(*, force: str, start: float = 0.0, velocity: float = 0.0) -> mbd.Model:
    """1 kg along a line."""
    line = mbd.Model("cart", length=1)
    line.add("x", Coordinate(unit="m", start=start, velocity=velocity, force=force))
    line.add_mass("x", 1)
    return line


# ---------------------------------------------------------------- contacts


def hard() -> mbd.Model:
    plane = between("sphere_plane", radius=0.1, stiffness=1e6, dissipation=0.2)
    return model(gravity=[0, -WEIGHT], bodies={"ball": ball(position=[0, 0.6])}, forces={"plane": plane})


def damped() -> mbd.Model:
    plane = between("sphere_plane", radius=0.1, stiffness=1e4, normal="linear", damping=50)
    return model(gravity=[0, -WEIGHT], bodies={"ball": ball(position=[0, 0.6])}, forces={"plane": plane})


def thrown() -> mbd.Model:
    """A ball that is thrown on a plate, slides there and begins to roll."""
    shot = ball(inertia=[0.004] * 3, position=[-0.5, 0, 0.6], velocity=[1.5, 0, 0])
    plate = between("sphere_box", size=[4, 4, 0.2], radius=0.1, stiffness=1e5, dissipation=0.5, coefficient=0.2)
    return model(dimensions=3, gravity=[0, 0, -WEIGHT], bodies={"ball": shot}, forces={"plate": plate})


def cylinder() -> mbd.Model:
    """A lying cylinder, a little tilted, meets a plate with one end and then with the other."""
    tilted = {"axis": [0, 1, 0], "angle": 0.1}
    lying = {"mass": 1, "inertia": [0.002, 0.01, 0.01], "position": [0, 0, 0.4], "orientation": tilted, "free": True}
    plate = between("cylinder_box", size=[3, 3, 0.2], radius=0.05, length=0.4, axis=[1, 0, 0], stiffness=1e5,
                    dissipation=0.5)  # fmt: skip
    return model(dimensions=3, gravity=[0, 0, -WEIGHT], bodies={"ball": lying}, forces={"plate": plate})


def pendulum() -> mbd.Model:
    """A bar with a ball at its end swings against a floor."""
    joint = {"type": "revolute", "i": GROUND, "j": {"body": "ball", "at": [-1, 0]}}
    floor = between("sphere_plane", radius=0.1, stiffness=1e5, dissipation=0.3) | {
        "i": {"body": "ground", "at": [0, -0.8]}
    }
    bar = {"mass": 1, "inertia": 0.1, "position": [1.0, 0]}
    return model(gravity=[0, -WEIGHT], bodies={"ball": bar}, joints={"pin": joint}, forces={"table": floor})


def wheel() -> mbd.Model:
    """A wheel of a car that is dropped, spinning too slowly for its speed."""
    dropped = {"mass": 20, "inertia": 1, "position": [0, 0.4], "velocity": [8, 0], "omega": -10, "free": True}
    tyre = between("tyre", damping=2000)
    return model(gravity=[0, -WEIGHT], bodies={"ball": dropped}, forces={"tyre": tyre})


def stopped() -> mbd.Model:
    """A mass on a spring against a bump stop that grows stiff."""
    spring = between("translational", axis=[1, 0], stiffness=100)
    stop = between("bump_stop", axis=[1, 0], lower=-0.5, stiffness=1e6, exponent=1.5, damping=100, damping_depth=0.005)
    rail = {"type": "prismatic", "i": GROUND, "j": {"body": "ball"}}
    body = {"mass": 1, "inertia": 1, "position": [1, 0]}
    return model(bodies={"ball": body}, joints={"rail": rail}, forces={"spring": spring, "stop": stop})


def four_bar() -> mbd.Model:
    """A crank and rocker that are driven by a torque until the rocker meets a stop."""
    a, d = np.array([0.0, 0.4]), np.array([1.2, 0.0])
    b, c = a, d + 0.9 * np.array([np.cos(1.9), np.sin(1.9)])

    def bar(start: Any, end: Any, **more: Any) -> dict[str, Any]:
        along = end - start
        place = {"position": list((start + end) / 2), "angle": float(np.arctan2(along[1], along[0]))}
        return {"mass": 1, "inertia": 0.08, **place, **more}

    o = np.zeros(2)
    half = {"crank": 0.2, "rod": float(np.linalg.norm(c - b)) / 2, "rocker": 0.45}
    bodies = {"crank": bar(o, a), "rod": bar(b, c), "rocker": bar(d, c)}

    def pin(i: dict[str, Any], j: dict[str, Any]) -> dict[str, Any]:
        return {"type": "revolute", "i": i, "j": j}

    def end(body: str, sign: int) -> dict[str, Any]:
        return {"body": body, "at": [sign * half[body], 0]}

    joints = {
        "A": pin(GROUND, end("crank", -1)),
        "B": pin(end("crank", 1), end("rod", -1)),
        "C": pin(end("rod", 1), end("rocker", 1)),
        "D": pin({"body": "ground", "at": [1.2, 0]}, end("rocker", -1)),
    }
    stop = {"type": "bump_stop", "i": GROUND, "j": end("rocker", 1), "lower": 1.05, "stiffness": 1e5, "damping": 200,
            "damping_depth": 0.01}  # fmt: skip
    motor = {"type": "rotational", "i": GROUND, "j": {"body": "crank"}, "torque": 1.0, "damping": 0.2}
    return model(bodies=bodies, joints=joints, forces={"stop": stop, "motor": motor})


def bouncing() -> mbd.Model:
    falling = cart(force=f"-{WEIGHT}", start=1.0)
    falling.add("hit", Impact(gap="x", restitution=0.7))
    return falling


def after_two_bounces(end: float) -> float:
    """The path from 1 m with restitution 0.7, after the second of its bounces."""
    first = np.sqrt(2 / WEIGHT)
    second = first + 2 * 0.7 * first
    speed = 0.7**2 * np.sqrt(2 * WEIGHT)
    assert second < end < second + 2 * speed / WEIGHT
    return float(speed * (end - second) - WEIGHT / 2 * (end - second) ** 2)


# ---------------------------------------------------------------- dampers, friction, states


def stiff_damper() -> mbd.Model:
    """1 kg that creeps back: rates -1/s and -1e5/s."""
    strut = between("translational", axis=[1, 0], stiffness=1e5, damping=1e5)
    body = ball(position=[1, 0], velocity=[1, 0])
    return model(bodies={"ball": body}, forces={"strut": strut})


def crept(end: float) -> float:
    """x'' + c x' + k x = 0 with c = k = 1e5, from x = x' = 1."""
    c = 1e5
    root = np.sqrt(c * c - 4 * c)
    slow, fast = -2 * c / (c + root), -(c + root) / 2
    share = (1 - slow) / (fast - slow)
    return float((1 - share) * np.exp(slow * end) + share * np.exp(fast * end))


def rubbing() -> mbd.Model:
    """A block on a spring turns round four times on its dry surface before it sticks."""
    rub = between("friction", normal_force=WEIGHT, coefficient=0.3, static_coefficient=0.4, axis=[1, 0])
    spring = between("translational", axis=[1, 0], stiffness=50)
    rail = {"type": "prismatic", "i": GROUND, "j": {"body": "ball"}}
    body = {"mass": 1, "inertia": 1, "position": [1, 0]}
    return model(bodies={"ball": body}, joints={"rail": rail}, forces={"rub": rub, "spring": spring})


def bristles() -> mbd.Model:
    """The same with states of friction, whose rates are stiff."""
    rub = between("friction", normal_force=WEIGHT, coefficient=0.3, static_coefficient=0.4, axis=[1, 0], law="lugre")
    spring = between("translational", axis=[1, 0], stiffness=50)
    rail = {"type": "prismatic", "i": GROUND, "j": {"body": "ball"}}
    body = {"mass": 1, "inertia": 1, "position": [1, 0]}
    return model(bodies={"ball": body}, joints={"rail": rail}, forces={"rub": rub, "spring": spring})


def relay() -> mbd.Model:
    """A relay pulls a mass to and fro by an actuator that follows within 0.5 ms."""
    switched = cart(force="10*X - x", start=1.0)
    switched.add("X", State(rate="2000*(if(x > 0, -1, 1) - X)", start=0.0))
    return switched


def relay_of_events() -> mbd.Model:
    """The same, switched by events, which are located."""
    switched = cart(force="10*X - x", start=1.0)
    switched.add("X", State(rate="2000*(side - X)", start=0.0))
    switched.add("side", State(rate="0", start=-1.0))
    switched.add("down", Event(when="x < 0", set={"side": "1"}))
    switched.add("up", Event(when="x > 0", set={"side": "-1"}))
    return switched


# ---------------------------------------------------------------- jumps of force


def pushed() -> mbd.Model:
    """Two forces that begin at once, here and there."""
    push = between("vector", force=["if(ball.x > 1.3, -20, 0) + if(ball.x < 0.9, 30, 0)", 0])
    return model(bodies={"ball": ball(position=[1, 0], velocity=[1, 0])}, forces={"push": push})


def by_time() -> mbd.Model:
    return cart(force="if(time > 0.3137, 20, 0) - if(time > 0.7, 50, 0)", velocity=1.0)


def pushed_by_time(end: float) -> float:
    return float(end + 10 * (end - 0.3137) ** 2 - 25 * (end - 0.7) ** 2)


def by_input() -> mbd.Model:
    held = cart(force="-9*x + push", start=1.0)
    held.add("push", Input(unit="N"))
    return held


def let_go(simulation: mbd.Simulation, end: float) -> None:
    """A push of 20 N from RELEASE on, at which the schemes are told of it."""
    simulation.advance(RELEASE)
    simulation["push"] = 20.0
    simulation.advance(end)


def pushed_by_hand(end: float) -> float:
    """x'' = -9 x, then x'' = -9 x + 20."""
    x, v, t, rest = np.cos(3 * RELEASE), -3 * np.sin(3 * RELEASE), end - RELEASE, 20 / 9
    return float(rest + (x - rest) * np.cos(3 * t) + v / 3 * np.sin(3 * t))


def by_event() -> mbd.Model:
    turned = cart(force="1 - 9*n")
    turned.add("n", State(rate="0", start=0.0))
    turned.add("turn", Event(when="x > 0.7", set={"n": "1"}))
    return turned


def turned_by_event(end: float) -> float:
    """x'' = 1 to 0.7 m, then -8."""
    t = end - np.sqrt(1.4)
    return float(0.7 + np.sqrt(1.4) * t - 4 * t * t)


def turned_at_walls(end: float) -> float:
    """`pushed`: 1 m/s between 0.9 m and 1.3 m, and turned round within 1/10 s and 2/30 s beyond these."""
    last = 0.3 + (0.1 + 0.4) + (2 / 30 + 0.4) + (0.1 + 0.4) + 2 / 30  # s, when it comes back to 0.9 m
    assert last < end < last + 0.4
    return 0.9 + end - last


# ---------------------------------------------------------------- all of them


def advance(simulation: mbd.Simulation, end: float) -> None:
    simulation.advance(end)


@dataclass(frozen=True)
class Case:
    """A run, the signal that is looked at, and what it is at the end."""

    build: Callable[[], mbd.Model]
    end: float
    signal: str
    exact: float
    reference: Callable[[], mbd.Model] | None = None  # of which `exact` is computed; none: a formula
    run: Callable[[mbd.Simulation, float], None] = advance
    jumps: bool = False  # whether a force jumps in the middle of steps


def located(build: Callable[[], mbd.Model]) -> Callable[[], mbd.Model]:
    """The same model, in which steps end where contacts and stops begin and end."""

    def model_of() -> mbd.Model:
        description = build().description
        forces = {
            name: force.model_copy(update={"locate": True}) if "locate" in type(force).model_fields else force
            for name, force in description.forces.items()
        }
        return mbd.Model.from_description(description.model_copy(update={"forces": forces}))

    return model_of


def computed(build: Callable[[], mbd.Model], end: float, signal: str, exact: float) -> Case:
    return Case(build, end, signal, exact, located(build))


CASES = {
    "hard": computed(hard, 1.0, "ball.y", 0.23195675),
    "damped": computed(damped, 1.0, "ball.y", 0.09875738),
    "thrown": computed(thrown, 1.0, "ball.x", 0.69633074),
    "cylinder": computed(cylinder, 0.5, "ball.z", 0.16892394),
    "pendulum": computed(pendulum, 1.5, "ball.phi", -0.66305560),
    "wheel": computed(wheel, 0.5, "ball.x", 3.37702008),
    "stopped": computed(stopped, 1.0, "ball.x", 0.48016626),
    "four_bar": computed(four_bar, 1.2, "crank.phi", 1.80395296),
    "rubbing": computed(rubbing, 2.0, "ball.x", 0.05656492),
    "bristles": computed(bristles, 2.0, "ball.x", 0.06648724),
    "relay": Case(relay, 2.0, "x", 0.58735883, relay_of_events),
    "bouncing": Case(bouncing, 1.5, "x", after_two_bounces(1.5)),
    "stiff_damper": Case(stiff_damper, 0.5, "ball.x", crept(0.5)),
    "by_time": Case(by_time, 1.5, "x", pushed_by_time(1.5)),
    "by_input": Case(by_input, 2.0, "x", pushed_by_hand(2.0), run=let_go),
    "by_event": Case(by_event, 2.0, "x", turned_by_event(2.0)),
    "pushed": Case(pushed, 2.0, "ball.x", turned_at_walls(2.0), jumps=True),
}
