"""What may not be negative, zero or too large is refused however it is written: plain, in quotes, by parameters."""

import json
from pathlib import Path
from typing import Any

import pytest

import mbdfmu as mbd

GROUND = {"body": "ground"}
BALL = {"type": "sphere_plane", "i": GROUND, "j": {"body": "b"}, "stiffness": 1e5, "radius": 0.1}
BOX = {**BALL, "type": "sphere_box", "size": [1, 1, 1]}
SPRING = {"type": "translational", "i": GROUND, "j": {"body": "b", "at": [1, 0, 0]}, "stiffness": 1}
BUSHING = {"type": "bushing", "i": GROUND, "j": {"body": "b"}}
FRICTION = {"type": "friction", "i": GROUND, "j": {"body": "b"}, "normal_force": 1, "coefficient": 0.5}
STOP = {"type": "bump_stop", "i": GROUND, "j": {"body": "b"}, "stiffness": 1, "lower": 1}
ROD = {"type": "distance", "i": GROUND, "j": {"body": "b", "at": [1, 0, 0]}, "length": 1}
PID = {"type": "pid", "input": "time", "kp": 1}
BEAM = {
    "type": "beam", "i": GROUND, "j": {"body": "b", "at": [1, 0, 0]}, "length": 1, "elastic_modulus": 1e9,
    "shear_modulus": 1e9, "area": 1e-2, "second_moment": [1, 1, 1],
}  # fmt: skip
BODY = {"mass": 1, "inertia": [1, 1, 1], "free": True}
SPHERE, CYLINDER = {"type": "sphere", "radius": 1}, {"type": "cylinder", "radius": 1, "length": 1}
SOLID = {"type": "box", "size": [1, 1, 1], "mass": 1}

# Section, entry, the field that is wrong, its value, and what is said.
WRONG: list[tuple[str, dict[str, Any], str, float, str]] = [
    ("forces", SPRING, "stiffness", -1000, ".stiffness: must be zero or positive, found -1000.0"),
    ("forces", BALL, "radius", 0, ".radius: must be positive, found 0.0"),
    ("forces", BALL, "creep_speed", 0, ".creep_speed: must be positive, found 0.0"),
    ("forces", BALL, "exponent", -1, ".exponent: must be positive, found -1.0"),
    ("forces", BOX, "size[1]", -1, ".size[1]: must be positive, found -1.0"),
    ("forces", FRICTION, "coefficient", -1, ".coefficient: must be zero or positive, found -1.0"),
    ("forces", {**BUSHING, "torsional_damping": [1, 1, 1]}, "torsional_damping[0]", -1, ".torsional_damping[0]: must"),
    ("forces", {**BUSHING, "stiffness": [1, 1, 1]}, "stiffness[2]", -1, ".stiffness[2]: must be zero or positive"),
    ("forces", BEAM, "second_moment[1]", -1, ".second_moment[1]: must be zero or positive, found -1.0"),
    ("forces", STOP, "upper", 0.5, ": lower must not exceed upper, found 1 and 0.5"),
    ("forces", FRICTION, "static_coefficient", 0.3, ": coefficient must not exceed static_coefficient"),
    ("joints", ROD, "length", 0, ".length: must be positive, found 0.0"),
    ("joints", ROD, "length", -1, ".length: must be positive, found -1.0"),
    ("blocks", {**PID, "kd": 1}, "filter_time", -1, ".filter_time: must be positive, found -1.0"),
    ("bodies", BODY, "mass", 0, ".mass: must be positive, found 0.0"),
    ("bodies", {**BODY, "shapes": [SPHERE]}, "shapes[0].radius", 0, ".shapes[0].radius: must be positive, found 0.0"),
    ("bodies", {**BODY, "shapes": [SPHERE, CYLINDER]}, "shapes[1].length", -1, ".shapes[1].length: must be positive"),
    ("bodies", {"shapes": [SOLID], "free": True}, "shapes[0].size[2]", -1, ".shapes[0].size[2]: must be positive"),
    ("impacts", {"gap": "b.z + 1", "restitution": 1}, "restitution", 1.5, ".restitution: must be between 0 and 1"),
    ("parameters", {"value": 1, "max": 2}, "value", 3, ""),
]  # fmt: skip
NAMES = [f"{section} {entry.get('type', '')} {field} {value}" for section, entry, field, value, _ in WRONG]


def with_value(entry: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """The entry, in which the field at `shapes[0].radius` is another."""
    changed = json.loads(json.dumps(entry))
    *way, last = [int(part) if part.isdigit() else part for part in path.replace("[", ".").replace("]", "").split(".")]
    at = changed
    for part in way:
        at = at[part]
    at[last] = value
    return changed


def model(folder: Path, section: str, entry: dict[str, Any], **more: Any) -> mbd.Model:
    content: dict[str, Any] = {"format_version": 1, "name": "m", "dimensions": 3, "bodies": {"b": BODY}, **more}
    content[section] = {**content.get(section, {}), "b" if section == "bodies" else "e": entry}
    path = folder / "m.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return mbd.Model.load(path)


def findings(folder: Path, section: str, entry: dict[str, Any]) -> list[str]:
    with pytest.raises(mbd.ModelError) as caught:
        model(folder, section, entry).compile()
    return [problem.removeprefix(f"{folder / 'm.json'}: ") for problem in caught.value.problems]


@pytest.mark.parametrize(("section", "entry", "field", "value", "told"), WRONG, ids=NAMES)
def test_a_number_in_quotes_is_refused_as_a_plain_one(
    section: str, entry: dict[str, Any], field: str, value: float, told: str, tmp_path: Path
) -> None:
    place = f"{section}.{'b' if section == 'bodies' else 'e'}{told}"
    for written in (value, f"{value}", f"{value} + 0"):
        (problem,) = findings(tmp_path, section, with_value(entry, field, written))
        assert problem.startswith(place), problem


@pytest.mark.parametrize(("section", "entry", "field", "value", "told"), WRONG, ids=NAMES)
def test_what_follows_from_parameters_is_refused_at_the_start(
    section: str, entry: dict[str, Any], field: str, value: float, told: str, tmp_path: Path
) -> None:
    """Sizes of shapes were not, nor parameters that follow from others and leave their own bounds."""
    bad = model(tmp_path, section, with_value(entry, field, "k"), parameters={"k": value})
    with pytest.raises(mbd.ModelError, match=r"must .*, found"):
        bad.simulate(0.01, 0.01)


def test_limits_in_quotes_that_cross_are_refused(tmp_path: Path) -> None:
    (problem,) = findings(tmp_path, "blocks", {**PID, "min": "5", "max": "-5"})
    assert problem == "blocks.e: min must not exceed max, found 5 and -5"


@pytest.mark.parametrize("written", [-1, "-1", "1 - 2"])
def test_the_length_of_the_model_is_positive_too(written: float | str, tmp_path: Path) -> None:
    """It was refused at the start only, and hid other findings."""
    with pytest.raises(mbd.ModelError, match=r"length: must be positive, found -1\.0"):
        model(tmp_path, "bodies", BODY, length=written).compile()


def test_all_findings_of_a_file_come_at_once(tmp_path: Path) -> None:
    """A value that cannot be read is told once, and hides no other."""
    entry = {**BALL, "radius": "-1", "stiffness": "nowhere", "dissipation": "-2"}
    found = [problem.partition("\n")[0] for problem in findings(tmp_path, "forces", entry)]
    assert found == [
        "forces.e: nothing is called 'nowhere'",
        "forces.e.dissipation: must be zero or positive, found -2.0",
        "forces.e.radius: must be positive, found -1.0",
    ]


def test_a_size_that_is_only_drawn_must_be_known(tmp_path: Path) -> None:
    (problem,) = findings(tmp_path, "bodies", {**BODY, "shapes": [{**SPHERE, "radius": "nowhere"}]})
    assert problem.startswith("bodies.b.shapes[0].radius: nothing is called 'nowhere'")


@pytest.mark.parametrize("text", ["1/0", "sqrt(-1)", "1e300*1e300"])
def test_a_parameter_that_is_not_finite_is_refused(text: str, tmp_path: Path) -> None:
    """Also where nothing uses it."""
    (problem,) = findings(tmp_path, "parameters", {"value": text})
    assert problem.startswith(f"parameters.e.value: must be a finite number, found '{text}' = ")
