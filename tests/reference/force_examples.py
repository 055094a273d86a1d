"""Samples of every force element for the tests that all of them have to pass; must not hold a formula.

A new element needs one entry in EXAMPLES: what a file would say about it besides its ends. Markers on two bodies in
random places are put in for all fields that are required to name one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Fields = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Example:
    """One element in models of the plane, of space, or both."""

    fields: Fields = field(default_factory=dict)  # in both
    plane: Fields | None = field(default_factory=dict)  # None: no such element
    space: Fields | None = field(default_factory=dict)
    passive: bool = False  # never gives more energy than it has stored
    conservative: tuple[str, ...] | None = None  # fields without which nothing but a spring remains
    sections: Fields = field(default_factory=dict)  # of the model: tables, parameters, ..
    positions: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # of the bodies; None: anywhere within 1 m
    marker: Fields | None = None  # of all ends, besides the body; None: in random places
    spread: float = 1.0  # of positions (m), where these are given, and of all angles (rad)
    states: float = 1.0  # the size of differential states
    absolute: tuple[str, ...] = ()  # keys of signals that see the ground
    only_ground: bool = False  # one end has to be the ground

    def of(self, dimensions: int) -> Fields | None:
        """All fields in models of so many dimensions."""
        own = self.plane if dimensions == 2 else self.space
        return None if own is None else {**self.fields, **own}


_SPRING = {"stiffness": 3.0, "damping": 0.7}
_ALONG = {"plane": {"axis": [0.6, 0.7]}, "space": {"axis": [0.6, -0.3, 0.7]}}
_COMPONENTS: dict[str, Any] = {
    "plane": {"force": ["0.3 + two.vx*sin(time)", "-1*two.x*one.y"]},
    "space": {"force": ["0.3 + two.vx*sin(time)", "-1*two.x*one.y", "1*two.omega_x"]},
}

_MIDDLES = {"i": {"body": "one"}, "j": {"body": "two"}}
_DRY = {"static_coefficient": 0.5, "stribeck_speed": 0.3, "creep_speed": 0.2}

_HARD = {"stiffness": 3.0}
_ELASTIC: dict[str, Any] = {"passive": True, "conservative": {"coefficient": 0.0, "static_coefficient": 0.0}}
_SIDE_BY_SIDE: dict[str, Any] = {  # the second body below the plane of the first
    "plane": {"i": {"body": "one"}, "j": {"body": "two"}},
    "space": {"i": {"body": "one"}, "j": {"body": "two"}},
    "positions": ((0.0, 0.0, 0.0), (0.5, -1.5, -1.5)),
    "spread": 0.4,
}
_TYRE = {"radius": 1.5, "stiffness": 30.0, "damping": 0.7, "coefficients": {"nominal_load": 20.0}}

_TABLES = {
    "tables": {
        "curve": {"x": [-0.5, -0.2, 0.1, 0.3, 0.8], "y": [-2.0, -0.5, 0.2, 0.4, 2.5], "method": "akima"},
        "line": {"x": [-0.3, 0.0, 0.5], "y": [-0.5, 0.0, 0.7], "extrapolate": "linear"},
    }
}

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "translational": (
        Example(fields={**_SPRING, "free_length": 0.4}, passive=True, conservative=("damping",)),
        Example(fields={**_SPRING, "force": "0.2 + f.length^3"}, **_ALONG),
        Example(fields=_SPRING, passive=True, conservative=("damping",), **_ALONG),
        Example(
            fields={"spring_table": "curve", "damper_table": "line", "free_length": 0.7},
            sections=_TABLES,
            passive=True,
            conservative=("damper_table",),
        ),
    ),
    "rotational": (
        Example(
            fields={"spring_table": "curve", "damper_table": "line", "free_angle": 0.2},
            sections=_TABLES,
            passive=True,
            conservative=("damper_table",),
        ),
        Example(
            fields={**_SPRING, "free_angle": 0.2},
            space={"axis": [0.1, 0.2, 0.9]},
            passive=True,
            conservative=("damping",),
        ),
        Example(fields={"torque": "0.3*f.angle_rate - sin(time)"}),
    ),
    "vector": (
        Example(**_COMPONENTS, absolute=("force", "power")),
        Example(
            fields={"frame": {"body": "ground"}},
            plane={"force": [1.0, 2.0]},
            space={"force": [1.0, 2.0, 3.0]},
            absolute=("power",),
        ),
    ),
    "general": (
        Example(
            plane={"force": [0.3, -0.2], "torque": "0.1 + 0.2*f.force.x"},
            space={"force": [0.3, -0.2, 0.5], "torque": [0.1, "0.2*f.force.x", -0.4]},
        ),
        Example(
            fields={"frame": {"body": "two"}},
            plane={"torque": 0.7},
            space={"torque": [0.1, 0.3, "0.2*sin(time)"]},
        ),
    ),
    "single": (
        Example(fields={"force": "0.2 + sin(time)"}),
        Example(fields={"force": 0.7, "frame": {"body": "two"}}, **_ALONG),
    ),
    "beam": (
        Example(
            fields={
                **{"length": 1.0, "elastic_modulus": 30.0, "shear_modulus": 12.0, "area": 0.4, "shear_factor": 0.8},
                "damping": 0.1,
            },
            plane={"second_moment": 0.02},
            space={"second_moment": [0.05, 0.02, 0.03], "shear_factor": [0.8, 0.7]},
            passive=True,
            conservative=("damping",),
            positions=((-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)),
            spread=0.2,
            marker={"at": [0.1, -0.1, 0.2]},
        ),
    ),
    "bushing": (
        Example(
            plane={
                **{"stiffness": [3.0, 2.0], "damping": [0.3, 0.2], "free_displacement": [0.1, -0.2]},
                **{"torsional_stiffness": 1.5, "torsional_damping": 0.4, "free_rotation": 0.3},
            },
            space={
                **{"stiffness": [3.0, 2.0, 4.0], "damping": [0.3, 0.2, 0.1], "free_displacement": [0.1, -0.2, 0.3]},
                **{"torsional_stiffness": [1.5, 1.0, 2.0], "torsional_damping": [0.4, 0.3, 0.2]},
                **{"free_rotation": [0.3, 0.1, -0.2]},
            },
            passive=True,
            conservative=("damping", "torsional_damping"),
        ),
        Example(
            fields={"stiffness": ["1 + f.displacement_x^2", 2.0, 1.0]},
            plane={"stiffness": ["1 + f.displacement_x^2", 2.0], "force": ["time", 1.0], "torque": "1*f.angle"},
            space={"force": ["time", 1.0, 0.3], "torque": [1.0, "0.3*f.force.x", 1.0]},
        ),
    ),
    "bump_stop": (
        Example(  # within both bounds, and beyond each
            fields={
                **{"lower": 0.9, "upper": 1.4, "stiffness": 5.0, "exponent": 1.5},
                **{"damping": 0.6, "damping_depth": 0.2},
            },
            passive=True,
            conservative=("damping", "damping_depth"),
        ),
        Example(
            fields={"lower": "0.2 + 0.1*sin(time)", "stiffness": 5.0, "exponent": 2.0, "locate": True},
            **_ALONG,
        ),
    ),
    "drag": (
        Example(fields={"area": 0.5, "coefficient": 1.2}, passive=True),
        Example(
            fields={"area": 0.5, "coefficient": 1.2, "density": 1000.0},
            plane={"wind": [0.4, "0.1*time"]},
            space={"wind": [0.4, "0.1*time", -0.3]},
        ),
    ),
    "gravitation": (Example(fields={"mass_i": 2.0, "mass_j": 3.0, "constant": 0.5}, conservative=()),),
    "friction": (
        Example(fields={"coefficient": 0.3, "normal_force": "2 + sin(time)", **_DRY}, passive=True, **_ALONG),
        Example(
            fields={
                **{"coefficient": 0.3, "normal_force": 2.0, "law": "lugre", "static_coefficient": 0.5, "viscous": 0.2},
                **{"bristle_stiffness": 30.0, "bristle_damping": 0.5},
            },
        ),
        Example(
            fields={"coefficient": 0.3, "normal_force": 2.0, **_DRY},
            plane=None,
            space={"plane": [0.1, -0.3, 1.0]},
            passive=True,
        ),
    ),
    "joint_friction": (
        Example(
            fields={"joint": "pin", "radius": 0.1, "coefficient": 0.3, "preload": 0.5, **_DRY},
            sections={"joints": {"pin": {"type": "revolute", **_MIDDLES}}},
            passive=True,
            absolute=("load", "friction", "power"),  # the reactions are those of ground axes
        ),
        Example(
            fields={"joint": "rail", "length": 0.4, "coefficient": 0.3, "law": "lugre"},
            sections={"joints": {"rail": {"type": "prismatic", "axis": [1.0, 0.0], **_MIDDLES}}},
            space=None,
        ),
        Example(
            fields={"joint": "sleeve", "radius": 0.1, "length": 0.4, "coefficient": 0.3, "rounding": 0.1, **_DRY},
            plane=None,
            sections={"joints": {"sleeve": {"type": "cylindrical", "axis": [0.0, 0.6, 0.8], **_MIDDLES}}},
            passive=True,
            absolute=("load", "friction", "power"),
        ),
        Example(
            fields={"joint": "ball", "radius": 0.1, "coefficient": 0.3, "law": "lugre", "bristle_stiffness": 30.0},
            plane=None,
            sections={"joints": {"ball": {"type": "spherical", **_MIDDLES}}},
            absolute=("load", "friction", "power"),
        ),
    ),
    "point_plane": (
        Example(fields={**_HARD, "normal": "hertz", "coefficient": 0.3, **_DRY}, **_SIDE_BY_SIDE, **_ELASTIC),
    ),
    "sphere_plane": (
        Example(
            fields={**_HARD, "radius": 3.0, "normal": "linear", "damping": 0.4},
            passive=True,
            conservative={"damping": 0.0},
        ),
        Example(
            fields={**_HARD, "radius": 3.0, "exponent": 1.2, "dissipation": 0.3, "coefficient": 0.3, **_DRY},
            passive=True,
            **_ALONG,
        ),
        Example(fields={**_HARD, "radius": 0.01}, conservative=None, positions=((0.0, 0.0, 0.0), (3.0, 3.0, 3.0))),
    ),
    "sphere_box": (
        Example(
            fields={**_HARD, "radius": 2.5, "coefficient": 0.3, **_DRY},
            plane={"size": [1.0, 1.2]},
            space={"size": [1.0, 1.2, 0.9]},
            positions=((0.0, 0.0, 0.0), (1.2, 1.0, 0.9)),
            spread=0.4,
            **_ELASTIC,
        ),
        Example(
            fields={**_HARD, "radius": 0.0, "normal": "hertz", "coefficient": 0.3},
            plane={"size": [8.0, 9.0]},
            space={"size": [8.0, 9.0, 7.0]},
            **_ELASTIC,
        ),
    ),
    "cylinder_box": (
        Example(
            fields={**_HARD, "radius": 1.5, "length": 1.7, "coefficient": 0.3, **_DRY},
            plane=None,
            space={"size": [1.0, 1.2, 0.9], "axis": [0.1, 0.2, 1.0]},
            positions=((0.0, 0.0, 0.0), (0.8, 0.6, 0.9)),
            spread=0.4,
        ),
    ),
    "wheel_road": (
        Example(
            fields={**_HARD, "radius": 2.0, "height": "0.3*sin(1*f.x)", "coefficient": 0.3, **_DRY},
            **_SIDE_BY_SIDE,
            **_ELASTIC,
        ),
        Example(fields={**_HARD, "radius": 3.0, "normal": "linear", "damping": 0.5}, passive=True),
    ),
    "sphere_sphere": (
        Example(fields={**_HARD, "radius_i": 2.0, "radius_j": 3.0, "coefficient": 0.3, **_DRY}, **_ELASTIC),
        Example(
            fields={**_HARD, "radius_i": 2.0, "radius_j": 3.0, "restitution": 0.6, "impact_speed": 2.0}, passive=True
        ),
    ),
    "tyre": (
        Example(fields={**_TYRE, "low_speed": 0.05}, space={"axis": [0.2, 1, 0.1], "side": 1}, states=0.2),
        Example(
            fields={**_TYRE, "height": "0.1*sin(2*f.x)", "friction": "0.8 + 0.3*tanh(f.x + time)"},
            space={"normal": [0.1, 0.2, 1], "ahead": [1, 1, 0], "side": -1},
            states=0.2,
        ),
    ),
}
