"""A mid-size car on four tyres, its suspensions made of joints; must not know how it is solved.

Axes are those of ISO 8855, the origin is on the road below the centre of mass of the car's body.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu import Body, Box, Cylinder, Input, Marker, Model, Output, Parameter, State, Submodel
from mbdfmu.forces import General, Translational, Tyre
from mbdfmu.joints import Prismatic

FRONT, REAR = 1.2, -1.5  # m, the axles
HALF_TRACK, BODY_HEIGHT = 0.77, 0.56  # m
RACK, RACK_MASS = -0.12, 6  # m behind the front axle, kg
CORNERS = {
    f"{axle}_{side}": (axle, side, x) for axle, x in (("front", FRONT), ("rear", REAR)) for side in ("left", "right")
}

# Of a left suspension, from the wheel's centre (m): where rods and strut hold the upright, and where the chassis.
LOWER, UPPER, STEERING = (0.01, -0.07, -0.12), (-0.015, -0.11, 0.20), (RACK, -0.09, -0.06)
RODS = {
    "lower_front": (LOWER, (0.18, -0.44, -0.10)),
    "lower_rear": (LOWER, (-0.18, -0.44, -0.10)),
    "upper_front": (UPPER, (0.12, -0.35, 0.18)),
    "upper_rear": (UPPER, (-0.15, -0.35, 0.18)),
}
TIE_ROD = (STEERING, (RACK, -0.43, -0.055))
STRUT = ((0.0, -0.10, -0.08), (-0.02, -0.21, 0.45))


def _share(of_body: float, of_rack: float) -> str:
    """The load of one suspension, from distances to the other axle."""
    return f"9.81*(body_mass*{of_body} + {RACK_MASS * of_rack})/{2 * (FRONT - REAR)}"


PARAMETERS = {  # of the car: value, unit, text
    "speed": (20, "m/s", "at the start"),
    "body_mass": (1340, "kg", "without wheels and uprights"),
    "roll_inertia": (480, "kg.m2", "of the body"),
    "pitch_inertia": (1950, "kg.m2", "of the body"),
    "yaw_inertia": (2100, "kg.m2", "of the body"),
    "front_spring": (30000, "N/m", "stiffness of each strut"),
    "rear_spring": (29000, "N/m", "stiffness of each strut"),
    "front_damper": (2400, "N.s/m", "of each strut"),
    "rear_damper": (2200, "N.s/m", "of each strut"),
    "front_bar": (14000, "N/m", "stiffness of the anti-roll bar, force at a strut over the difference of both"),
    "rear_bar": (6000, "N/m", "stiffness of the anti-roll bar, force at a strut over the difference of both"),
    "steering_stiffness": (1.5e6, "N/m", "between the wanted and the real place of the rack"),
    "upright_mass": (22, "kg", "of each, with brake and half of the suspension"),
    "wheel_mass": (18, "kg", "of each, with tyre"),
    "wheel_inertia": (0.95, "kg.m2", "of each about its axis"),
    "tyre_stiffness": (200000, "N/m", "of each, upright"),
    "radius": (0.313, "m", "of the unloaded tyres"),
    "friction": (1, "", "of the road, factor of the tyres' own"),
    "front_brake": (2e-4, "N.m/Pa", "torque of each front brake over its pressure"),
    "rear_brake": (1e-4, "N.m/Pa", "torque of each rear brake over its pressure"),
    "front_load": (_share(-REAR, FRONT + RACK - REAR), "N", "of each front suspension at rest"),
    "rear_load": (_share(FRONT, -RACK), "N", "of each rear suspension at rest"),
}
OF_CORNER = {  # the same in a corner, and what the car calls them
    "speed": "speed", "load": "{axle}_load", "stiffness": "{axle}_spring", "damping": "{axle}_damper",
    "upright_mass": "upright_mass", "wheel_mass": "wheel_mass", "wheel_inertia": "wheel_inertia",
    "tyre_stiffness": "tyre_stiffness", "radius": "radius",
}  # fmt: skip
INPUTS = {
    "brake": ("N.m", "brake torque, against either sense of rotation"),
    "drive": ("N.m", "drive torque from the car's body, positive ahead"),
    "actuator": ("N", "force of the active suspension, positive pushes car and wheel apart"),
    "road": ("m", "height of the road below the wheel, added to the profile"),
}


def build(height: str = "0", friction: str = "friction") -> Model:
    """Car with four driven, braked and active wheels on double wishbones and a steering rack"""
    # height (m) and friction of the road: expressions of the place {x}, {y} of a wheel, of time and parameters
    text = "Car with four driven, braked and active wheels on double wishbones and a steering rack"
    model = Model("full_vehicle", text=text, dimensions=3, gravity=(0, 0, -9.81),
                  experiment={"stop_time": 5, "step": 0.005, "tolerance": 1e-4})  # fmt: skip
    for name, (value, unit, about) in PARAMETERS.items():
        model.add(name, Parameter(value=value, unit=unit, text=about))
    model.add("rack", Input(unit="m", text="wanted place of the steering rack, positive steers to the left"))
    _add_body(model)
    for name, (axle, side, x) in CORNERS.items():
        _add_corner(model, name, axle, side, x)
        _add_tyre(model, name, height, friction)
        other = name.replace(side, {"left": "right", "right": "left"}[side])
        bar = f"-{axle}_bar*({name}.strut.length - {other}.strut.length)"
        model.add(f"{name}_bar", Translational(i=f"{name}.strut_foot", j=f"{name}.strut_top", force=bar))
        _add_caliper(model, name, axle)
    model.add("distance", State(rate=DRIVEN, unit="m", text="driven since the start, wherever the car's body points"))
    for name, (value, unit, about) in OUTPUTS.items():
        model.add(name, Output(value=value, unit=unit, text=about))
    return model


def _add_body(model: Model) -> None:
    """The car's body and the steering rack on it."""
    shapes = (Box(size=(4.2, 1.6, 0.5), at=(-0.15, 0, 0), color="#4477aa"),
              Box(size=(2.2, 1.4, 0.5), at=(-0.4, 0, 0.5), color="#99bbdd"))  # fmt: skip
    model.add("car", Body(mass="body_mass", inertia=("roll_inertia", "pitch_inertia", "yaw_inertia"),
                          position=(0, 0, BODY_HEIGHT), velocity=("speed", 0, 0), shapes=shapes))  # fmt: skip
    place = (FRONT + RACK, 0, 0.24)
    model.add("steering_rack", Body(mass=RACK_MASS, inertia=(0.1, 0.01, 0.1), position=place, velocity=("speed", 0, 0)))
    guide = Marker(body="car", at=(place[0], 0, place[2] - BODY_HEIGHT))
    moved = Marker(body="steering_rack")
    model.add("rack_guide", Prismatic(i=guide, j=moved, axis=(0, 1, 0)))
    model.add("rack_drive", Translational(i=guide, j=moved, axis=(0, 1, 0), stiffness="steering_stiffness",
                                          damping=4000, free_length="-rack"))  # fmt: skip


def _add_corner(model: Model, name: str, axle: str, side: str, x: float) -> None:
    given = {key: value.format(axle=axle) for key, value in OF_CORNER.items()}
    attach = {"chassis": "car", "rack": "steering_rack" if axle == "front" else "car"}
    part: dict[str, Any] = {"model": _corner(), "position": (x, 0, 0), "attach": attach, "parameters": given}
    model.add(name, Submodel(**part, mirror="y") if side == "right" else Submodel(**part))


def _add_tyre(model: Model, name: str, height: str, friction: str) -> None:
    """On the car's own level, where places are those of the whole road."""
    place = {"x": f"{name}_tyre.x", "y": f"{name}_tyre.y"}
    tyre = Tyre(i=Marker(body="ground"), j=Marker(body=f"{name}.wheel"), stiffness="tyre_stiffness", radius="radius",
                height=f"{name}.road + {height.format(**place)}", friction=friction.format(**place))  # fmt: skip
    model.add(f"{name}_tyre", tyre)


def _add_caliper(model: Model, name: str, axle: str) -> None:
    """What the pressure does, on the car's own level, where controllers inside the model can reach it."""
    pressure = Input(unit="Pa", min=0, text="of the brake, adds to the torque that is given; neither turns a wheel")
    model.add(f"{name}_pressure", pressure)
    torque = f"-{axle}_brake*{name}_pressure*{_sense(name)}"
    ends = {"i": Marker(body=f"{name}.upright"), "j": Marker(body=f"{name}.wheel")}
    model.add(f"{name}_caliper", General(**ends, torque=(0, torque, 0)))


def _sense(name: str) -> str:
    """Of the wheel's rotation, smooth about standstill."""
    return f"tanh(({name}.wheel.omega_y - {name}.upright.omega_y)/0.3)"


def _corner() -> dict[str, Any]:
    """The left suspension of either axle, its origin on the road in the middle of the axle."""
    numbers = {key: value for key, value in PARAMETERS.items() if key in OF_CORNER}
    numbers |= {
        "load": (4000, "N", "of the suspension at rest"),
        "stiffness": (30000, "N/m", "of the strut"),
        "damping": (2400, "N.s/m", "of the strut"),
        "height": ("radius - (load + (upright_mass + wheel_mass)*9.81)/tyre_stiffness", "m", "of the wheel at rest"),
    }
    rest = float(np.linalg.norm(np.subtract(*STRUT)))
    chassis = {name: ("chassis", ends) for name, ends in RODS.items()} | {"tie_rod": ("rack", TIE_ROD)}
    free = f"{rest} + load/({_strut_ratio()}*stiffness)"
    return {
        "format_version": 1,
        "name": "corner",
        "dimensions": 3,
        "gravity": [0, 0, -9.81],
        "parameters": {key: {"value": v, "unit": unit, "text": text} for key, (v, unit, text) in numbers.items()},
        "inputs": {key: {"unit": unit, "text": text} for key, (unit, text) in INPUTS.items()},
        "bodies": {"chassis": {"external": True}, "rack": {"external": True}, "upright": _upright(), "wheel": _wheel()},
        "markers": {
            "strut_foot": {"body": "upright", "at": list(STRUT[0])},
            "strut_top": {"body": "chassis", "at": _on_chassis(STRUT[1])},
        },
        "joints": {
            "bearing": {"type": "revolute", "axis": [0, 1, 0], "i": {"body": "upright"}, "j": {"body": "wheel"}},
            **{name: _rod(body, *ends) for name, (body, ends) in chassis.items()},
        },
        "forces": {
            "strut": {"type": "translational", "i": "strut_foot", "j": "strut_top", "stiffness": "stiffness",
                      "damping": "damping", "free_length": free, "force": f"actuator + {_stops(rest)}"},
            "disc": {"type": "general", "i": {"body": "upright"}, "j": {"body": "wheel"},
                     "torque": [0, "-brake*tanh((wheel.omega_y - upright.omega_y)/0.3)", 0]},
            "shaft": {"type": "general", "i": {"body": "chassis"}, "j": {"body": "wheel"},
                      "frame": {"body": "upright"}, "torque": [0, "drive", 0]},
        },
    }  # fmt: skip


def _upright() -> dict[str, Any]:
    link = {"type": "rod", "radius": 0.015, "color": "#228833"}
    shapes = [{**link, "from": [0, 0, 0], "to": list(end)} for end in (LOWER, UPPER, STEERING)]
    return {"mass": "upright_mass", "inertia": [0.4, 0.35, 0.25], "position": [0, HALF_TRACK, "height"],
            "velocity": ["speed", 0, 0], "shapes": shapes}  # fmt: skip


def _wheel() -> dict[str, Any]:
    """Its speed at the start is that of rolling freely, with the rolling radius of the tyre."""
    spin = "speed/(radius - (radius - height)/3)"
    shape = Cylinder(radius="radius", length=0.2, orientation={"axis": (1, 0, 0), "angle": "90*deg"}, color="#333333")
    across = "0.6*wheel_inertia"
    return {"mass": "wheel_mass", "inertia": [across, "wheel_inertia", across], "position": [0, HALF_TRACK, "height"],
            "velocity": ["speed", 0, 0], "omega": [0, spin, 0], "shapes": [shape.to_data()]}  # fmt: skip


def _on_chassis(point: tuple[float, float, float]) -> list[Any]:
    return [point[0], HALF_TRACK + point[1], f"height + {point[2]}"]


def _rod(body: str, outer: tuple[float, float, float], inner: tuple[float, float, float]) -> dict[str, Any]:
    """A massless rod between ball joints."""
    length = float(np.linalg.norm(np.subtract(outer, inner)))
    return {"type": "distance", "length": length, "i": {"body": body, "at": _on_chassis(inner)},
            "j": {"body": "upright", "at": list(outer)}}  # fmt: skip


def _stops(rest: float) -> str:
    """Bump stop and rebound stop, 70 mm from rest."""
    return f"bistop(strut.length, strut.length_rate, {rest - 0.07}, {rest + 0.07}, 3e5, 1.2, 3000, 0.01)"


def _strut_ratio() -> float:
    """How much the strut is pressed when the wheel's centre rises, over that rise: it carries load/ratio."""
    rods = [*RODS.values(), TIE_ROD]
    rows = [_stretching(outer, inner) for outer, inner in rods]
    motion = np.linalg.solve([*rows, [0, 0, 1, 0, 0, 0]], [0, 0, 0, 0, 0, 1])
    return float(-_stretching(*STRUT) @ motion)


def _stretching(outer: tuple[float, float, float], inner: tuple[float, float, float]) -> NDArray[np.float64]:
    """The rate of a distance by velocity and angular velocity of the upright."""
    along = np.subtract(outer, inner) / np.linalg.norm(np.subtract(outer, inner))
    return np.concatenate([along, np.cross(outer, along)])


_AHEAD, _LEFT = ("car.{k}x*cos(car.yaw) + car.{k}y*sin(car.yaw)", "car.{k}y*cos(car.yaw) - car.{k}x*sin(car.yaw)")
STILL = 1e-3  # m/s, what smooths the speed about standstill
DRIVEN = f"sqrt(car.vx**2 + car.vy**2 + {STILL**2}) - {STILL}"
OUTPUTS = {
    "speed_ahead": (_AHEAD.format(k="v"), "m/s", "of the car's body, along its heading"),
    "speed_left": (_LEFT.format(k="v"), "m/s", "of the car's body, across its heading"),
    "acceleration_ahead": (_AHEAD.format(k="a"), "m/s2", "of the car's body, along its heading"),
    "acceleration_left": (_LEFT.format(k="a"), "m/s2", "of the car's body, across its heading"),
    "acceleration_up": ("car.az", "m/s2", "of the car's body"),
    "yaw": ("car.yaw", "rad", "heading, positive to the left, from -pi to pi"),
    "yaw_rate": ("car.omega_z", "rad/s", "of the car's body, positive to the left"),
    "path_x": ("car.x", "m", "place of the car's body on the road"),
    "path_y": ("car.y", "m", "place of the car's body on the road, positive to the left"),
    "driven": ("distance", "m", "way since the start, wherever the car's body points"),
    "roll": ("car.roll", "rad", "of the car's body, positive to the right"),
    "pitch": ("car.pitch", "rad", "of the car's body, positive nose down"),
} | {
    f"{name}_{key}": (value.format(name=name, axle=name.partition("_")[0]), unit, text)
    for name in CORNERS
    for key, (value, unit, text) in {
        "wheel_speed": ("{name}.wheel.omega_y - {name}.upright.omega_y", "rad/s", "as a sensor at the upright sees it"),
        "slip": ("{name}_tyre.slip.kappa", "", "-1 where the wheel is locked; below 2 m/s a deflection"),
        "slip_angle": ("{name}_tyre.slip.alpha", "rad", "positive where the wheel moves to its left"),
        "brake_torque": (f"({{name}}.brake + {{axle}}_brake*{{name}}_pressure)*{_sense('{name}')}", "N.m",
                         "of the brake on the wheel, positive against rotation ahead"),
        "load": ("{name}_tyre.force.z", "N", "of the tyre on the road"),
        "travel": ("{name}.strut.length", "m", "length of the strut"),
        "travel_rate": ("{name}.strut.length_rate", "m/s", "of the strut"),
    }.items()
}  # fmt: skip
