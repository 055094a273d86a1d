"""What stands for an element in Modelica: classes of its standard library, or equations; must not know any element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

MULTIBODY = "Modelica.Mechanics.MultiBody"
# How an orientation starts, and what describes it: a quaternion or three angles.
TURNING = (
    "enforceStates", "angles_fixed", "angles_start", "sequence_start", "w_rel_a_fixed", "w_rel_a_start",
    "useQuaternions", "sequence_angleStates",
)  # fmt: skip


class Moving(NamedTuple):
    """The variables of a class that are a free coordinate with its derivatives."""

    value: str
    rate: str
    acceleration: str


@dataclass(frozen=True, kw_only=True)
class Library:
    """A class of the Modelica Standard Library 4 that does the same: all of it that exported models use."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)  # of the class: the field that gives it
    settings: tuple[str, ...] = ()  # parameters that are no fields: how it starts, in whose axes
    connectors: tuple[str, str] = ("frame_a", "frame_b")  # of the ends i and j
    coordinates: Mapping[str, Moving] = field(default_factory=dict)  # by free coordinate
    turns: bool = False  # the orientation is free too
    inputs: Mapping[str, str] = field(default_factory=dict)  # that are vectors: their signals without .x, .y, .z
    axis: str = ""  # the field with the direction that an input has in frame_a, whose signal is a number
    turns_axis: bool = False  # the input is a torque about it, and in space a joint has to keep it in both ends

    @property
    def shown(self) -> str:
        """In tables: the class, its parameters with the fields that give them, its variables and inputs."""
        variables = [f"{moving.value}: {key}" for key, moving in self.coordinates.items()]
        given = [f"{name}: {key}" for name, key in self.parameters.items()]
        words = ", ".join([*given, *variables, *(f"{name}: {key}" for name, key in self.inputs.items())])
        rest = "; own equations in space where no joint keeps the axis" if self.turns_axis else ""
        return self.name.removeprefix("Modelica.Mechanics.") + (f" ({words})" if words else "") + rest

    @property
    def modified(self) -> frozenset[str]:
        """All names that modifiers of the class may have."""
        moving = [name for one in self.coordinates.values() for name in one]
        return frozenset((*self.parameters, *self.settings, *moving))


@dataclass(frozen=True, kw_only=True)
class Equations:
    """The library has no such class: the element's own equations, and a local model that acts on its bodies."""

    like: str = ""  # what the library builds something similar from

    @property
    def shown(self) -> str:
        """In tables."""
        return f"own equations (like {self.like})" if self.like else "own equations"


@dataclass(frozen=True, kw_only=True)
class Local:
    """A small class between two frames that the text brings with it.

    That of a joint has a parameter `closing_rate`, and variables `gap` and `gap_rate` that have to be zero. Its rows
    are those of the joint, differentiated until accelerations stand in them (T22.1): the states stay what they are.
    That of a force has an input, which is what the force is along its rate.
    """

    name: str
    text: str  # its definition, two columns in
    parameters: Mapping[str, str] = field(default_factory=dict)  # of the class: the field that gives it
    multipliers: tuple[str, ...] = ()  # its variables, by row of the joint
    gaps: tuple[str, ...] = ()  # by row
    input: str = ""
    like: str = ""
    connectors: ClassVar[tuple[str, str]] = ("frame_a", "frame_b")

    @property
    def shown(self) -> str:
        """In tables."""
        return f"local model `{self.name}`" + (f" (like {self.like})" if self.like else "")

    @property
    def modified(self) -> frozenset[str]:
        """All names that modifiers of the class may have."""
        return frozenset((*self.parameters, *(["closing_rate"] if self.gaps else [])))


Counterpart = Library | Equations | Local
_LINE = """annotation(Icon(graphics={Line(points={{-90, 0}, {90, 0}}, thickness=1),
          Text(extent={{-150, 60}, {150, 20}}, textString="%name")}));"""


def line_force(like: str) -> Local:
    """For a force along the line between its ends."""
    text = f"""\
  model LineForce "Force along the line between two points"
    extends {MULTIBODY}.Interfaces.PartialTwoFrames;
    Modelica.Blocks.Interfaces.RealInput force(unit="N") "pushes the points apart"
      annotation(Placement(transformation(extent={{{{-20, -20}}, {{20, 20}}}}, rotation=270, origin={{0, 120}})));
    Modelica.Units.SI.Position r[3] "from frame_a to frame_b, ground axes";
  equation
    r = frame_b.r_0 - frame_a.r_0;
    frame_a.f = {MULTIBODY}.Frames.resolve2(frame_a.R, force*r/sqrt(r*r));
    frame_b.f = -{MULTIBODY}.Frames.resolve2(frame_b.R, force*r/sqrt(r*r));
    frame_a.t = zeros(3);
    frame_b.t = zeros(3);
    {_LINE}
  end LineForce;
"""
    return Local(name="LineForce", text=text, input="force", like=like)


def between_points(name: str, text: str, *, declarations: str, gap: str, force: str, size: str = "") -> str:
    """The definition of a local class that holds the origins of two frames by forces between them.

    `force` acts on frame_a, its opposite on frame_b, in ground axes; `gap` is a formula of r, from frame_a to frame_b.
    """
    zero, each = (f"zeros({size.strip('[]')})", "each ") if size else ("0", "")
    return f'''\
  model {name} "{text}"
    extends {MULTIBODY}.Interfaces.PartialTwoFrames;
    parameter Real closing_rate(unit="1/s") "at which the gap closes that comes from rounding and tolerance";
{declarations}
    Modelica.Units.SI.Length gap{size}({each}stateSelect=StateSelect.never) "has to be zero";
    Modelica.Units.SI.Velocity gap_rate{size}({each}stateSelect=StateSelect.never) "its rate";
    Modelica.Units.SI.Position r[3] "from frame_a to frame_b, ground axes";
  equation
    r = frame_b.r_0 - frame_a.r_0;
    gap = {gap};
    gap_rate = der(gap);
    {zero} = der(gap_rate) + 2*closing_rate*gap_rate + closing_rate^2*gap;
    frame_a.f = -{MULTIBODY}.Frames.resolve2(frame_a.R, {force});
    frame_b.f = {MULTIBODY}.Frames.resolve2(frame_b.R, {force});
    frame_a.t = zeros(3);
    frame_b.t = zeros(3);
    {_LINE}
  end {name};
'''


def axis_force() -> Library:
    """For a force along the field `axis`."""
    return Library(name=force("Force"), settings=("resolveInFrame",), inputs={"force": "force"}, axis="axis")


def axis_torque() -> Library:
    """For a torque about the field `axis`, which both ends share."""
    settings, inputs = ("resolveInFrame",), {"torque": "torque"}
    return Library(name=force("Torque"), settings=settings, inputs=inputs, axis="axis", turns_axis=True)


def joint(name: str) -> str:
    """The full name of one of the library's joints."""
    return f"{MULTIBODY}.Joints.{name}"


def force(name: str) -> str:
    """The full name of one of the library's forces."""
    return f"{MULTIBODY}.Forces.{name}"
