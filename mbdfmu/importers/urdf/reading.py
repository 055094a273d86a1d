"""The text of a URDF file becomes a robot; must not know how links and joints hang together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.importers.poses import Array, Pose
from mbdfmu.importers.urdf.findings import Findings
from mbdfmu.importers.urdf.robot import TYPES, Inertial, Joint, Link, Mimic, Robot, Solid
from mbdfmu.importers.urdf.tags import Part, Tag, note_strays, parse

_KNOWN = {  # tag: (attributes, children)
    "robot": ("name version", "link joint material"),
    "link": ("name type", "inertial visual collision"),
    "inertial": ("", "origin mass inertia"),
    "mass": ("value", ""),
    "inertia": ("ixx iyy izz ixy ixz iyz", ""),
    "visual": ("name", "origin geometry material"),
    "collision": ("name", "origin geometry"),
    "origin": ("xyz rpy", ""),
    "geometry": ("", "box cylinder sphere mesh"),
    "box": ("size", ""),
    "cylinder": ("radius length", ""),
    "sphere": ("radius", ""),
    "mesh": ("filename scale", ""),
    "material": ("name", "color texture"),
    "color": ("rgba", ""),
    "texture": ("filename", ""),
    "joint": ("name type", "origin parent child axis dynamics limit mimic calibration safety_controller"),
    "parent": ("link", ""),
    "child": ("link", ""),
    "axis": ("xyz", ""),
    "dynamics": ("damping friction", ""),
    "limit": ("lower upper effort velocity", ""),
    "mimic": ("joint multiplier offset", ""),
    "calibration": ("rising falling reference_position", ""),
    "safety_controller": ("soft_lower_limit soft_upper_limit k_position k_velocity", ""),
}
_ZERO = (0.0, 0.0, 0.0)
_X = (1.0, 0.0, 0.0)


def read_robot(content: bytes, findings: Findings) -> Robot:
    """Everything in the file; what is broken is in the findings, and something stands in for it."""
    root = parse(content, findings)
    if root.name != "robot":
        raise ModelError(f"line {root.line}: the outermost tag must be <robot>, found <{root.name}>; give a URDF file")
    macros = [element for element in root.element.iter("*") if "xacro" in str(element.tag)]
    if macros:
        cure = "expand it first: xacro FILE -o robot.urdf"
        raise ModelError(f"line {macros[0].sourceline}: holds tags of xacro, which writes URDF files; {cure}")
    note_strays(root, _KNOWN)
    name, colors = root.text("name"), _colors(root)
    return Robot(
        name=name,
        links=tuple(_link(tag, colors) for tag in root.children("link")),
        joints=tuple(_joint(tag) for tag in root.children("joint")),
    )


def _named(tag: Tag) -> str:
    """The name of a link or joint, which findings inside it mention."""
    name = tag.text("name")
    tag.part = Part(tag.name, name)
    return name


def _pose(tag: Tag) -> Pose:
    """The frame that <origin> places; where the tag itself is, if it has none."""
    origin = tag.child("origin")
    return Pose.at(origin.numbers("xyz", 3, _ZERO), origin.numbers("rpy", 3, _ZERO)) if origin else Pose()


# ---------------------------------------------------------------- links


def _link(tag: Tag, colors: dict[str, Tag]) -> Link:
    name = _named(tag)
    inertial, visuals, collisions = tag.child("inertial"), tag.children("visual"), tag.children("collision")
    if collisions:
        tag.note("there is no contact, collision geometry is drawn if there is no other")
    return Link(
        name=name,
        line=tag.line,
        inertial=_inertial(inertial) if inertial else None,
        solids=tuple(solid for part in visuals or collisions for solid in _solids(part, colors)),
    )


def _inertial(tag: Tag) -> Inertial:
    mass, inertia = tag.needed("mass"), tag.needed("inertia")
    xx, yy, zz, xy, xz, yz = (inertia.number(k) if inertia else math.nan for k in _KNOWN["inertia"][0].split())
    return Inertial(
        line=tag.line,
        pose=_pose(tag),
        mass=mass.number("value") if mass else math.nan,
        inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
    )


def _solids(tag: Tag, colors: dict[str, Tag]) -> Iterator[Solid]:
    """What a visual or collision draws of simple geometry."""
    pose, color, geometry = _pose(tag), _color(tag, colors), tag.needed("geometry")
    for form in geometry.children() if geometry else ():
        sizes = _FORMS[form.name](form) if form.name in _FORMS else {}
        if not sizes:
            tag.note(f"geometry of type {form.name} is not drawn")
        elif any(size <= 0 for size in np.ravel(list(sizes.values()))):
            tag.note("geometry without size is not drawn")
        else:
            yield Solid(pose=pose, sizes={"type": form.name, **sizes}, color=color)


_FORMS: dict[str, Callable[[Tag], dict[str, Any]]] = {
    "box": lambda form: {"size": list(form.numbers("size", 3))},
    "cylinder": lambda form: {"radius": form.number("radius"), "length": form.number("length")},
    "sphere": lambda form: {"radius": form.number("radius")},
}


# ---------------------------------------------------------------- colours


def _colors(root: Tag) -> dict[str, Tag]:
    """The colours that have names: those of the whole file first, then those that a visual defines."""
    own, visuals = root.children("material"), [v for link in root.children("link") for v in link.children("visual")]
    inside = [material for visual in visuals for material in visual.children("material")]
    found: dict[str, Tag] = {}
    for material in (*own, *inside):
        name, color = material.element.get("name"), material.child("color")
        if name and color:
            found.setdefault(name, color)
    return found


def _color(tag: Tag, colors: dict[str, Tag]) -> str | None:
    """The colour of a visual: its own, or the one that its material names."""
    material = tag.child("material")
    if material is None:
        return None
    name = material.element.get("name") or ""
    color = material.child("color") or colors.get(name)
    if material.child("texture"):
        tag.note("textures are not drawn")
    elif color is None:
        tag.findings.note("materials have no colour", f"'{name}'")
    return _hexadecimal(color, tag) if color else None


def _hexadecimal(color: Tag, drawn: Tag) -> str:
    values = np.nan_to_num(color.numbers("rgba", 4))  # what is not a number is a finding already
    if any(values < 0) or any(values > 1):
        drawn.note("colours beyond 0 to 1 are cut")
    if values[3] < 1:
        drawn.note("colours that shine through are drawn solid")
    return "#" + "".join(f"{round(255 * value):02x}" for value in np.clip(values[:3], 0.0, 1.0))


# ---------------------------------------------------------------- joints


def _joint(tag: Tag) -> Joint:
    name = _named(tag)
    kind, mimic, dynamics = _type(tag), tag.child("mimic"), tag.child("dynamics")
    if dynamics and dynamics.number("friction", 0.0):
        tag.note("dry friction is left out")
    for other in ("calibration", "safety_controller"):
        if tag.child(other):
            tag.note(f"<{other}> is left out")
    return Joint(
        name=name,
        line=tag.line,
        type=kind,
        parent=_end(tag, "parent"),
        child=_end(tag, "child"),
        pose=_pose(tag),
        axis=_axis(tag, kind),
        damping=_damping(dynamics) if dynamics else 0.0,
        limits=_limits(tag),
        mimic=_mimic(mimic, kind) if mimic else None,
    )


def _type(tag: Tag) -> str:
    found = tag.text("type")
    if found and found not in TYPES:
        tag.problem(f"type {found!r} is not known{did_you_mean(found, TYPES)}; known: {', '.join(TYPES)}")
    return found


def _end(tag: Tag, name: str) -> str:
    end = tag.needed(name)
    return end.text("link") if end else ""


def _axis(tag: Tag, kind: str) -> Array:
    """The direction of the axis, of length 1."""
    axis = tag.child("axis")
    if kind in ("fixed", "floating"):  # many files then give 0 0 0
        return np.array(_X)
    given = np.array(axis.numbers("xyz", 3, _X) if axis else _X)
    length = float(np.linalg.norm(given))
    if axis and length == 0:
        axis.problem("xyz must not be 0 0 0; a direction needs a length, as 0 0 1")
        return np.full(3, math.nan)
    return given / length


def _damping(tag: Tag) -> float:
    damping = tag.number("damping", 0.0)
    if damping < 0:
        tag.problem(f"damping must be zero or positive, found {damping:g}")
    return damping


def _limits(tag: Tag) -> tuple[str, ...]:
    """The limits as the file writes them, for the text of the joint."""
    limit = tag.child("limit")
    if limit is None:
        return ()
    tag.note("limits are left out, nothing stops a joint at its end")
    given = {name: limit.option(name) for name in _KNOWN["limit"][0].split()}
    return tuple(f"{name} {value.strip()}" for name, value in given.items() if value)


def _mimic(tag: Tag, kind: str) -> Mimic | None:
    """Which joint is followed; files often keep this of joints that they have made fixed."""
    if kind == "fixed":
        tag.note("<mimic> of a fixed joint is left out")
        return None
    return Mimic(
        line=tag.line,
        joint=tag.text("joint"),
        multiplier=tag.number("multiplier", 1.0),
        offset=tag.number("offset", 0.0),
    )
