"""Small models with states, variables and forces that need each other, for several test files; no test stands here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mbdfmu as mbd
import mbdfmu.forces
import mbdfmu.joints
from mbdfmu.description import Description

FILES = Path(__file__).parent / "reference" / "files"
GROUND = {"body": "ground"}


def swinging(name: str = "swinging", **sections: Any) -> Description:
    """A pendulum of 1 m that hangs at -0.4 rad from the horizontal and turns, and whatever else."""
    bar = {"mass": 2, "inertia": 0.3, "position": ["0.5*cos(0.4)", "-0.5*sin(0.4)"], "angle": -0.4}
    bar |= {"velocity": ["0.35*sin(0.4)", "0.35*cos(0.4)"], "omega": 0.7}
    data = {"format_version": 1, "name": name, "gravity": [0, -9.81], "length": 0.5, "bodies": {"bar": bar},
            "joints": {"pin": {"type": "revolute", "i": GROUND, "j": {"body": "bar", "at": [-0.5, 0]}}}}  # fmt: skip
    return Description(**{**data, **sections})


def torque(value: str, name: str = "motor") -> dict[str, Any]:
    """A rotational force from the ground on the bar."""
    return {name: {"type": "rotational", "i": GROUND, "j": {"body": "bar"}, "torque": value}}


def file(name: str) -> Description:
    return Description.from_json((FILES / f"{name}.json").read_bytes())


def implicit_states() -> Description:
    """Two states whose rates are coupled and not linear, and one that depends on a reaction and an acceleration."""
    equations = ["2*der(Z[1]) + 0.5*der(Z[2])^3 + der(Z[2]) + Z[1] - bar.phi",
                 "der(Z[2]) - 0.3*der(Z[1]) + sin(Z[2]) - bar.omega*X"]  # fmt: skip
    states = {
        "Z": {"equation": equations, "start": [0.2, -0.1]},
        "X": {"rate": "-X + 0.01*pin.reaction.y + 0.1*bar.alpha", "start": 0.5},
    }
    return swinging("implicit_states", states=states, forces=torque("Z[1] - 2*Z[2] - 0.1*der(Z[1])"))


def implicit_variables() -> Description:
    """Unknowns of equations: a cubic, and two that are coupled."""
    variables = {
        "s": {"equation": "s^3 + s - 3*bar.phi", "start": 0.1},
        "w": {"equation": ["w[1] + 0.4*w[2]^3 - s", "w[2] - 0.2*tanh(w[1]) - bar.omega"], "start": [0, 0]},
        "total": "w[1] + w[2] + s",
    }
    return swinging("implicit_variables", variables=variables, forces=torque("-0.7*tanh(total) - 0.1*s^2"))


def variable_loop() -> Description:
    """Two variables that depend on each other."""
    variables = {"a": "0.5*cos(b) + bar.phi", "b": "0.3*a + 0.1*bar.omega - 0.2*c", "c": "a*b - 0.05*bar.alpha"}
    return swinging("variable_loop", variables=variables, forces=torque("-a - 0.4*b + c"))


def force_loop() -> Description:
    """Two forces that use each other, an acceleration and the reaction of a joint."""
    forces = {
        **torque("0.3*brake.torque - bar.phi - 0.2*bar.alpha"),
        **torque("-0.2*motor.torque - 0.1*tanh(bar.omega)*sqrt(pin.reaction.x^2 + pin.reaction.y^2 + 1)", "brake"),
    }
    return swinging("force_loop", forces=forces)


def friction() -> Description:
    """A joint whose friction is proportional to its reaction."""
    law = "-0.1*tanh(5*bar.omega)*sqrt(pin.reaction.x^2 + pin.reaction.y^2 + 0.01)"
    return swinging("friction", forces=torque(law))


def driven() -> Description:
    """A motion whose rate is a state behind a lag, and a force that the state drives too."""
    states = {"speed": {"rate": "(command - speed)/0.2", "start": 0.7, "unit": "rad/s"}}
    return swinging(
        "driven",
        states=states,
        variables={"command": "1 + sin(3*time) - 0.2*bar.phi"},
        motions={"drive": {"of": "pin.angle", "value": "speed", "level": "velocity"}},
        forces=torque("-0.5*speed + 0.01*drive.reaction.force"),
    )


def with_input() -> Description:
    """A lag that follows an input, and drives."""
    return swinging(
        "with_input",
        inputs={"u": {"start": 0.0}},
        states={"x": {"rate": "(u - x)/0.1", "start": 0}},
        variables={"v": "u + x"},
        forces=torque("5*x - 2*bar.omega"),
    )


def in_space() -> Description:
    """A body on a ball joint with states, an algebraic loop, and torques that use reactions and accelerations."""
    brick = {"mass": 2, "inertia": [0.3, 0.2, 0.4], "position": [0.4, 0, 0.2], "omega": [0.5, -0.3, 0.8]}
    held = {"type": "spherical", "i": GROUND, "j": {"body": "brick", "at": [-0.4, 0, -0.2]}}
    law = ["-0.2*Z[1]", "-0.3*brick.omega_y - 0.1*b", "0.05*ball.force.z - 0.1*brick.alpha_z"]
    return Description(
        format_version=1, name="in_space", dimensions=3, gravity=[0, 0, -9.81], length=0.5,
        bodies={"brick": {**brick, "velocity": ["-0.3*0.2", "0.8*0.4 - 0.5*0.2", "0.3*0.4"]}}, joints={"ball": held},
        states={"Z": {"equation": ["der(Z[1]) + 0.2*der(Z[2]) - brick.omega_x", "der(Z[2]) - 0.1*der(Z[1])^3 + Z[2]"]}},
        variables={"a": "0.4*b + brick.y", "b": "0.3*sin(a) + brick.alpha_x*0.01"},
        forces={"drive": {"type": "general", "i": GROUND, "j": {"body": "brick"}, "torque": law}},
    )  # fmt: skip


MODELS = {
    "pi_actuator": lambda: file("pi_actuator"),
    "arm": lambda: file("arm"),
    **{make.__name__: make for make in (implicit_states, implicit_variables, variable_loop, force_loop, friction)},
    "driven": driven,
    "with_input": with_input,
}


def model(description: Description) -> mbd.Model:
    return mbd.Model.from_description(description)
