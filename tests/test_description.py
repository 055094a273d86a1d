"""What users say about a model: read, refused with all reasons at once, written back; units; families of elements."""

import copy
import json
import math
import os
import pickle
import random
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from mbdfmu.description import (
    RESERVED,
    Body,
    Box,
    Constraint,
    Coordinate,
    Description,
    Direction,
    Experiment,
    Force,
    In,
    Initial,
    Input,
    Joint,
    Marker,
    MarkerRef,
    Motion,
    NonNegative,
    Orientation,
    Output,
    Parameter,
    Positive,
    Rod,
    Sphere,
    Value,
    schema,
)
from mbdfmu.errors import ModelError
from mbdfmu.registry import Registered
from mbdfmu.units import differentiated, display_units, symbols, unit


class DummyHinge(Joint, name="dummy_hinge"):
    """A joint for these tests.

    Nothing computes it.
    """


class DummySlider(Joint, name="dummy_slider"):
    axis: Direction = (1.0, 0.0)


class DummySpring(Force, name="dummy_spring"):
    i: MarkerRef
    j: MarkerRef
    stiffness: Annotated[Value, In("N/m")]
    damping: Annotated[NonNegative, In("N.s/m")] = 0.0
    free_length: Annotated[Positive, In("m")] = 1.0


DUMMIES = [(cls, cls._table.pop(cls.type_name)) for cls in (DummyHinge, DummySlider, DummySpring)]


@pytest.fixture(autouse=True)
def _dummies_are_known_here_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for family, member in DUMMIES:
        monkeypatch.setitem(family._table, member.type_name, member)


QUARTER = """{"format_version": 1, "name": "quarter", "gravity": [0, -9.81], "length": 0.5,
 "parameters": {"k": {"value": 2e4, "unit": "N/m", "min": 0, "tunable": true}},
 "inputs": {"road": {"unit": "m", "start": 0.1, "min": -1, "max": 1}},
 "markers": {"hub": {"body": "wheel", "at": [0, "-30*deg"]}},
 "bodies": {"car": {"mass": 300, "inertia": 10, "position": [0, 0.5]}, "wheel": {"mass": "k/1000", "inertia": 1}},
 "joints": {"guide": {"type": "dummy_slider", "i": {"body": "ground"}, "j": {"body": "car"}, "axis": [0, 1]},
            "axle": {"type": "dummy_hinge", "i": "hub", "j": {"body": "ground", "angle": "pi/2"}}},
 "forces": {"spring": {"type": "dummy_spring", "i": {"body": "ground", "at": [0, "road"]}, "j": {"body": "car"},
                       "stiffness": "k", "free_length": 0.5}},
 "motions": {"drive": {"of": "axle.angle", "value": "2*pi*time", "unit": "rad"}},
 "coordinates": {"beta": {"start": "0.1"}, "theta": {"velocity": 2, "force": "-k*theta", "unit": "m"}},
 "mass": {"beta": 1, "theta": "k", "theta, beta": "cos(theta)"},
 "velocity_terms": "given",
 "constraints": {"close": "theta - sin(beta)", "scaled": {"value": "theta", "unit": ""}},
 "experiment": {"stop_time": 10, "step": 0.01, "tolerance": 1e-6},
 "outputs": {"z": "car.y", "speed": {"value": "der(car.y)", "unit": "m/s", "text": "of the car"}}}"""


def problems_of(text, origin="") -> list[str]:
    with pytest.raises(ModelError) as caught:
        Description.from_json(text, origin)
    return caught.value.problems


def damaged(damage) -> str:
    """QUARTER after `damage` has changed its data."""
    data = json.loads(QUARTER)
    damage(data)
    return json.dumps(data)


# Reading and writing --------------------------------------------------------------------------------------------------


def test_a_file_gives_the_elements_it_names():
    model = Description.from_json(QUARTER)
    assert model.name == "quarter" and model.gravity == (0.0, -9.81) and model.length == 0.5
    assert model.parameters["k"] == Parameter(value=2e4, unit="N/m", min=0, tunable=True)
    assert model.inputs["road"] == Input(unit="m", start=0.1, min=-1, max=1)
    assert model.bodies["car"] == Body(mass=300, inertia=10, position=(0, 0.5))
    assert model.joints["axle"] == DummyHinge(i="hub", j=Marker(body="ground", angle="pi/2"))
    assert isinstance(model.joints["guide"], DummySlider) and model.joints["guide"].axis == (0.0, 1.0)
    assert model.motions["drive"] == Motion(of="axle.angle", value="2*pi*time", unit="rad")
    assert model.coordinates["beta"] == Coordinate(start="0.1")
    assert model.constraints == {
        "close": Constraint(value="theta - sin(beta)"),
        "scaled": Constraint(value="theta", unit=""),
    }
    assert model.outputs["z"] == Output(value="car.y")
    assert model.experiment == Experiment(stop_time=10, step=0.01, tolerance=1e-6)
    assert model.mass == {"beta": 1.0, "theta": "k", "beta,theta": "cos(theta)"}  # M is symmetric: one order
    assert model.velocity_terms == "given"


def test_defaults_are_those_of_the_format():
    model = Description.from_json('{"format_version": 1, "name": "empty"}')
    assert (model.text, model.gravity, model.length, model.experiment) == ("", (0.0, 0.0), None, None)
    assert model.velocity_terms == "derived" and model.bodies == {} and model.mass == {}
    body, coordinate = Body(mass=1, inertia=1), Coordinate()
    assert (body.position, body.angle, body.velocity, body.omega, body.free) == ((0, 0), 0, (0, 0), 0, False)
    assert (coordinate.start, coordinate.velocity, coordinate.force, coordinate.unit) == (0, 0, "0", "rad")
    assert Output(value="a").unit is None and Constraint(value="a").unit == "m"


def test_writing_and_reading_gives_an_equal_description():
    model = Description.from_json(QUARTER)
    again = Description.from_json(model.to_json())
    assert again == model and again.to_json() == model.to_json()
    assert Description(**model.to_data()) == model


def test_a_written_file_is_short():
    text = Description.from_json(QUARTER).to_json()
    assert '    "z": "car.y",\n' in text  # an output with nothing but a value is its value
    assert '    "car": {"mass": 300.0, "inertia": 10.0, "position": [0.0, 0.5]},\n' in text  # no defaults, one line
    assert '"free"' not in text and text.startswith('{\n  "format_version": 1,\n  "name": "quarter",\n')


def test_a_description_built_in_python_equals_the_one_read():
    read = Description.from_json(QUARTER)
    fields = {name: getattr(read, name) for name in Description.model_fields}
    assert Description(**fields) == read
    assert Description(**{**fields, "name": "other"}) != read
    assert copy.deepcopy(read) == read and pickle.loads(pickle.dumps(read)) == read


def test_elements_are_frozen():
    model = Description.from_json(QUARTER)
    for target, name in ((model, "name"), (model.bodies["car"], "mass"), (model.joints["axle"].j, "angle")):
        with pytest.raises(ValueError, match="frozen"):
            setattr(target, name, 1)


def test_numpy_numbers_and_arrays_are_numbers():
    body = Body(mass=np.float32(2), inertia=np.int64(3), position=np.array([1, 2]))
    assert body == Body(mass=2.0, inertia=3.0, position=(1.0, 2.0)) and type(body.mass) is float


def test_files_are_saved_and_loaded(tmp_path):
    model, path = Description.from_json(QUARTER), tmp_path / "quarter.json"
    model.save(path)
    model.save(str(path))
    assert Description.load(path) == Description.load(str(path)) == model
    assert os.listdir(tmp_path) == ["quarter.json"]  # nothing temporary stays


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(ModelError, match="there is no folder"):
        Description.from_json(QUARTER).save(tmp_path / "none" / "quarter.json")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "quarter.json"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Description.from_json(QUARTER).save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["quarter.json"]


def test_a_byte_order_mark_is_no_error(tmp_path):
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf" + QUARTER.encode())
    assert Description.load(path) == Description.from_json("\ufeff" + QUARTER)


def test_elements_are_found_by_name():
    model = Description.from_json(QUARTER)
    assert model.element("spring") is model.forces["spring"] and model.section_of("beta") == "coordinates"
    assert ("joints", "axle", model.joints["axle"]) in list(model.elements())
    assert {section for section, _, _ in model.elements()}.isdisjoint({"mass", "experiment"})
    assert model.marker("hub") == model.markers["hub"] and model.marker(Marker(body="car")).body == "car"
    with pytest.raises(ModelError, match=r"model 'quarter': nothing is named 'sprung'; did you mean 'spring'\?"):
        model.element("sprung")


def test_fields_tell_their_units():
    assert DummySpring.units() == {"stiffness": "N/m", "damping": "N.s/m", "free_length": "m"}
    assert Body.units()["inertia"] == "kg.m2"


SPATIAL = """{"format_version": 1, "name": "spatial", "dimensions": 3, "gravity": [0, 0, -9.81],
 "parameters": {"m": {"value": 2}},
 "markers": {"tip": {"body": "a", "at": [0, 0, "m"], "orientation": {"x": [1, 0, 0], "y": [0, 0, 1]}}},
 "bodies": {"a": {"mass": 1, "inertia": [1, 2, 3, 0, 0, "m"], "center": [0, 0, "m"], "position": [1, 2, 3],
                  "orientation": {"axis": [0, 0, 1], "angle": "30*deg"}, "velocity": [0, 0, 1], "omega": [1, 0, 0],
                  "held": true},
            "b": {"shapes": [{"type": "box", "size": [1, 2, "m"], "density": 1000, "at": [0, 0, 1], "color": "#FF8000"},
                             {"type": "rod", "from": [0, 0, 0], "to": [1, 0, 0], "mass": 2},
                             {"type": "sphere", "radius": 1, "orientation": {"angles": [1, 2, 3], "sequence": "rpy"}},
                             {"type": "cylinder", "radius": 0.1, "length": 1, "mass": 1}]}},
 "joints": {"hinge": {"type": "dummy_slider", "i": "tip", "j": {"body": "b"}, "axis": [0, 0, 1],
                      "start": {"angle": 0.3, "angle_rate": {"value": "m", "priority": "guess"}}}},
 "motions": {"drive": {"of": "hinge.angle", "value": "2", "level": "velocity"}}}"""


def test_a_spatial_file_gives_the_elements_it_names():
    model = Description.from_json(SPATIAL)
    a, b, hinge = model.bodies["a"], model.bodies["b"], model.joints["hinge"]
    assert model.dimensions == 3 and model.gravity == (0, 0, -9.81) and model.motions["drive"].level == "velocity"
    assert a.inertia == (1, 2, 3, 0, 0, "m") and a.center == (0, 0, "m") and a.omega == (1, 0, 0) and a.held
    assert a.orientation == Orientation(axis=(0, 0, 1), angle="30*deg") and a.weighed and not b.weighed
    assert b.shapes[0] == Box(size=(1, 2, "m"), density=1000, at=(0, 0, 1), color="#ff8000")
    assert (
        b.shapes[1]
        == Rod(start=(0, 0, 0), end=(1, 0, 0), mass=2)
        == Rod(**{"from": [0, 0, 0], "to": [1, 0, 0]}, mass=2)
    )
    assert [shape.type_name for shape in b.shapes] == ["box", "rod", "sphere", "cylinder"]
    assert [shape.weighs for shape in b.shapes] == [True, True, False, True]
    assert hinge.start == {"angle": Initial(value=0.3), "angle_rate": Initial(value="m", priority="guess")}
    again = Description.from_json(model.to_json())
    assert again == model and again.to_json() == model.to_json()
    assert '"start": {"angle": 0.3, "angle_rate": {"value": "m", "priority": "guess"}}' in model.to_json()


def test_defaults_fit_models_of_both_kinds():
    spatial, planar = Description.from_json(SPATIAL), Description.from_json(QUARTER)
    b = spatial.bodies["b"]
    for value in (b.position, b.velocity, b.center, b.omega, None, b.shapes[2].at):
        assert spatial.point(value) == (0, 0, 0)
    assert spatial.point(spatial.bodies["a"].position) == (1, 2, 3)
    assert planar.point(planar.gravity) == (0, -9.81) and planar.point(Marker(body="car").at) == (0, 0)
    assert planar.point((1.0, 0.0, 0.0)) == (1, 0)  # a joint's axis by default


# What is refused ------------------------------------------------------------------------------------------------------


def put(path, value):
    """A damage: data[path] = value."""

    def damage(data):
        *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
        for part in parents:
            data = data[part]
        data[last] = value

    damage.__name__ = f"{path}={value!r:.30}"
    return damage


def drop(path):
    def damage(data):
        *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
        for part in parents:
            data = data[part]
        del data[last]

    damage.__name__ = f"without {path}"
    return damage


HUGE = 10**400
REFUSED = [
    # header
    (drop("format_version"), "format_version: is missing and has no default; give it"),
    (put("format_version", 2), "format_version: must be 1, found 2; other formats need another mbdfmu"),
    (put("format_version", True), "format_version: must be 1, found true"),
    (drop("name"), "name: is missing and has no default; give it"),
    (put("name", ""), "name: must be a name of letters, digits and _ that starts with no digit, found an empty name"),
    (put("name", "two words"), "name: must be a name of letters, digits and _ that starts with no digit"),
    (put("name", 3), "name: must be a name in quotes, found 3"),
    (put("text", ["a"]), "text: must be text in quotes, found ['a']"),
    (put("text", "a\ud800"), "text: has a character that cannot be stored: '\\ud800'; remove it"),
    (put("gravity", 9.81), "gravity: must be a list [x, y], or [x, y, z] in a spatial model, found 9.81"),
    (put("gravity", [0, 0, 9.81]), "gravity: must be [x, y] in a planar model, found [0, 0, 9.81]; a spatial"),
    (put("gravity/1", None), "gravity[1]: must be a number or an expression in quotes, found null"),
    (put("length", 0), "length: must be positive, found 0.0"),
    (put("velocity_terms", "derive"), "velocity_terms: must be 'derived' or 'given', found 'derive'"),
    (put("experiment", 3), "experiment: must be an object {...}, found 3"),
    (put("experiment/step", -1), "experiment.step: must be positive, found -1.0"),
    (put("experiment/step", "h"), "experiment.step: must be a number, found 'h'"),
    (put("experiment/stp", 1), "experiment: unknown entry 'stp'; did you mean 'step'?; known: stop_time"),
    (put("bodys", {}), "unknown entry 'bodys'; did you mean 'bodies'?; known: format_version, name"),
    (put("bodies", []), "bodies: must be an object {...}, found []"),
    # values
    (put("bodies/car/mass", -1), "bodies.car.mass: must be positive, found -1.0"),
    (put("bodies/car/inertia", 0), "bodies.car.inertia: must be positive, found 0.0"),
    (put("bodies/car/mass", True), "bodies.car.mass: must be a number or an expression in quotes, found true"),
    (put("bodies/car/mass", {"a": [1]}), "bodies.car.mass: must be a number or an expression in quotes, found {'a'"),
    (put("bodies/car/mass", math.nan), "bodies.car.mass: must be a finite number, found nan"),
    (put("bodies/car/mass", -math.inf), "bodies.car.mass: must be a finite number, found -inf"),
    (put("bodies/car/mass", HUGE), "bodies.car.mass: must be a finite number, found inf"),
    (put("bodies/car/mass", " "), "bodies.car.mass: is empty; give an expression such as \"30*deg\""),
    (put("bodies/car/mass", "2*(k"), "bodies.car.mass: "),
    (put("bodies/car/free", 1), "bodies.car.free: must be true or false, found 1"),
    (put("bodies/car/position/0", "1 +"), "bodies.car.position[0]: "),
    (drop("bodies/car/mass"), "bodies.car.mass: is missing and has no default; give it"),
    (put("bodies/car/mas", 1), "bodies.car: unknown entry 'mas'; did you mean 'mass'?; known: text, mass, inertia"),
    (put("bodies/car", 7), "bodies.car: must be an object {...}, found 7"),
    (put("forces/spring/damping", -1), "forces.spring.damping: must be zero or positive, found -1.0"),
    (put("joints/guide/axis", [0, 0]), "joints.guide.axis: must not be [0, 0]; a direction needs a length, as [1, 0]"),
    (put("motions/drive/of", 3), "motions.drive.of: must be text in quotes, found 3"),
    (put("outputs/z", True), "outputs.z.value: must be a number or an expression in quotes, found true"),
    (put("outputs/z", ["car.y"]), "outputs.z: must be an object {...}, found ['car.y']"),
    (put("parameters/k/min", 3e4), "parameters.k: value must lie within min and max, found 20000.0 in [30000.0, None]"),
    (put("parameters/k/max", -1), "parameters.k: min must not exceed max, found min 0.0 and max -1.0"),
    (put("inputs/road/start", 2), "inputs.road: start must lie within min and max, found 2.0 in [-1.0, 1.0]"),
    (put("inputs/road/start", "k"), "inputs.road.start: must be a number, found 'k'"),
    # units
    (put("inputs/road/unit", "mm"), "inputs.road.unit: must be an SI unit, found 'mm'; use 'm' and convert the values"),
    (put("inputs/road/unit", "Nm"), "inputs.road.unit: 'Nm' is not a unit: unknown symbol 'Nm'; did you mean 'N.m'?"),
    (put("inputs/road/unit", 1), "inputs.road.unit: must be a unit in quotes such as \"N/m\", found 1"),
    # families
    (put("joints/axle/type", "dummy_hing"), "unknown joint type 'dummy_hing'; did you mean 'dummy_hinge'?"),
    (put("joints/axle/type", ["x"]), "joints.axle.type: must name the joint type, found ['x']; known: "),
    (drop("forces/spring/type"), "forces.spring.type: must name the force type, found null; known: "),
    (put("forces/spring/type", "dummy_hinge"), "forces.spring.type: unknown force type 'dummy_hinge'"),
    (put("joints/axle", "hub"), "joints.axle: must be an object {...}, found 'hub'"),
    (drop("joints/axle/i"), "joints.axle.i: is missing and has no default; give it"),
    (put("joints/axle/i", 4), "joints.axle.i: must be the name of a marker or a marker {...}, found 4"),
    (put("joints/axle/j/agle", 4), "joints.axle.j: unknown entry 'agle'; did you mean 'angle'?; known: text,"),
    (put("joints/axle/j/at", "x"), "joints.axle.j.at: must be a list [x, y], or [x, y, z] in a spatial model"),
    (put("joints/axle/\ud800", "x"), "has a key that is no printable text; rename it"),
    # names
    (put("bodies/2nd", {"mass": 1, "inertia": 1, "free": True}), "bodies.'2nd': must be a name of letters"),
    (put("bodies/", {"mass": 1, "inertia": 1, "free": True}), "found an empty name"),
    (put("bodies/time", {"mass": 1, "inertia": 1, "free": True}), "bodies.time: the name is reserved; choose another"),
    (put("parameters/atan2", {"value": 1}), "parameters.atan2: the name is reserved; choose another"),
    (put("outputs/car", "car.y"), "outputs.car: the name is taken by bodies.car; sections share their names"),
    (put("inputs/beta", {}), "coordinates.beta: the name is taken by inputs.beta; sections share their names"),
    # references
    (put("joints/axle/j/body", "grond"), "joints.axle.j.body: no body is named 'grond'; did you mean 'ground'?"),
    (put("joints/axle/j/body", "sky"), "joints.axle.j.body: no body is named 'sky'; known: ground, car, wheel"),
    (put("joints/axle/j/body", "hub"), "joints.axle.j.body: no body is named 'hub'; it is a marker, give its body"),
    (put("joints/axle/i", "hob"), "joints.axle.i: no marker is named 'hob'; did you mean 'hub'?; known: hub"),
    (put("joints/axle/j", "car"), 'no marker is named \'car\'; it is a body, write {"body": "car"}; known: hub'),
    (put("joints/guide/i/body", "car"), "joints.guide: both ends are on body 'car'; i and j must be on two"),
    (put("forces/spring/j/body", "ground"), "forces.spring: both ends are on ground; i and j must be on two"),
    (put("joints/axle/j/body", "wheel"), "joints.axle: both ends are on body 'wheel'"),
    (
        put("bodies/lost", {"mass": 1, "inertia": 1}),
        'bodies.lost: nothing refers to it; connect it by a joint or a force, or give "free": true',
    ),
    # mass
    (put("mass/gamma", 1), "mass.gamma: no coordinate is named 'gamma'; known: beta, theta"),
    (put("mass/beta,theta", 1), "mass.'beta,theta': the entry 'beta,theta' is given twice; remove one"),
    (put("mass/beta,thet", 1), "mass.'beta,thet': no coordinate is named 'thet'; did you mean 'theta'?"),
    (put("mass/a,b,c", 1), "mass.'a,b,c': must name one coordinate or two as in 'beta,theta', found 'a,b,c'"),
    (put("mass/beta", []), "mass.beta: must be a number or an expression in quotes, found []"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "expected"), REFUSED, ids=[damage.__name__ for damage, _ in REFUSED])
def test_one_damage_gives_one_line_that_names_it(damage, expected):
    problems = problems_of(damaged(damage), "quarter.json")
    assert len(problems) == 1, problems
    assert problems[0].startswith("quarter.json: ")
    assert expected in problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1, column 1: not JSON, expecting value, found the end of the text"),
        ('{"name": "a",\n "text" 3}', "line 2, column 9: not JSON, expecting ':' delimiter, found '3}'"),
        ("[1, 2]", "must hold one object {...}, found [1, 2]"),
        ("[" * 100_000, "nested deeper than 50 levels"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "nested deeper than 50 levels"),
        ('{"name": ' + "[" * 60 + "]" * 60 + "}", "nested deeper than 50 levels"),
        (b'{"name": "\xff"}', "line 1: not UTF-8 text at byte 10; save the file as UTF-8"),
        ('{"name": "a\x00"}', "line 1, column 12: not JSON, invalid control character at, found"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_text_that_is_no_model_is_refused_with_its_place(text, expected):
    (problem,) = problems_of(text, "bad.json")
    assert problem.startswith("bad.json: ") and expected in problem


def test_long_numbers_are_refused_like_infinite_ones():
    text = QUARTER.replace("300", "3" * 10_000).replace('"inertia": 10', '"inertia": 1e999')
    assert problems_of(text) == [
        "bodies.car.mass: must be a finite number, found inf",
        "bodies.car.inertia: must be a finite number, found inf",
    ]
    with pytest.raises(ModelError, match="found an integer of about 400 digits"):
        Body(mass=HUGE, inertia=1)


def test_nan_and_infinity_are_refused_with_their_path():
    text = QUARTER.replace("300", "NaN").replace('"inertia": 10', '"inertia": -Infinity')
    assert [p.partition(":")[0] for p in problems_of(text)] == ["bodies.car.mass", "bodies.car.inertia"]


def test_a_key_given_twice_is_refused_with_its_path():
    text = QUARTER.replace('"wheel": {', '"car": {').replace('"i": "hub"', '"i": "hub", "i": "hub"')
    problems = problems_of(text)
    assert "bodies.car: the key is given twice; remove one" in problems
    assert "joints.axle.i: the key is given twice; remove one" in problems


def test_a_syntax_error_shows_the_expression_and_a_caret():
    (problem,) = problems_of(QUARTER.replace('"car.y"', '"car.y * + )"'), "quarter.json")
    first, text, caret = problem.split("\n")
    assert first.startswith("quarter.json: outputs.z.value: ") and text.strip() == "car.y * + )"
    assert text[caret.index("^")] == ")"


@pytest.mark.parametrize("name", ["missing.json", "", "zero\0byte.json"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(ModelError, match=r"cannot be read: .*; check the path") as caught:
        Description.load(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_all_errors_come_at_once():
    text = QUARTER.replace('"name": "quarter",', "").replace("300", "-300").replace('"dummy_hinge"', '"hinge"')
    text = text.replace('"road": {"unit": "m"', '"road": {"unit": "furlong"').replace("sin(beta)", "sin(beta")
    text = text.replace('"body": "ground", "at"', '"body": "grund", "at"').replace('"theta": "k"', '"phi": "k"')
    text = text.replace('"outputs"', '"bodies": {}, "outputs"', 0)
    paths = [problem.split(":")[0] for problem in problems_of(text)]
    assert sorted(paths) == sorted(
        ["name", "inputs.road.unit", "bodies.car.mass", "joints.axle.type", "constraints.close.value",
         "forces.spring.i.body", "mass.phi"]
    )  # fmt: skip


SPATIAL_REFUSED = [
    (put("dimensions", 4), "dimensions: must be 2 or 3, found 4"),
    (put("gravity", [0, 1]), "gravity: must be [x, y, z] in a spatial model, found [0, 1]"),
    (put("markers/tip/at", [0, 1]), "markers.tip.at: must be [x, y, z] in a spatial model, found [0, 1]"),
    (put("joints/hinge/j/at", [0, 1]), "joints.hinge.j.at: must be [x, y, z] in a spatial model, found [0, 1]"),
    (put("joints/hinge/j/angle", 1), "joints.hinge.j.angle: belongs to planar models; spatial models have"),
    (put("joints/hinge/axis", [0, 1]), "joints.hinge.axis: must be [x, y, z] in a spatial model, found [0, 1]"),
    (put("joints/hinge/axis", [0, 0, 0]), "joints.hinge.axis: must not be [0, 0, 0]; a direction needs a length, as"),
    (put("joints/hinge/start/angle", None), "joints.hinge.start.angle: must be an object {...}, found null"),
    (put("joints/hinge/start/angle_rate/priority", "high"), "must be 'required' or 'guess', found 'high'"),
    (put("motions/drive/level", "jerk"), "must be 'position', 'velocity' or 'acceleration', found 'jerk'"),
    (put("bodies/a/angle", 1), 'bodies.a.angle: belongs to planar models; spatial models have "orientation"'),
    (put("bodies/a/inertia", 1), "bodies.a.inertia: must be a list [Jxx, Jyy, Jzz] in a spatial model, found 1"),
    (put("bodies/a/inertia", [1, 2]), "bodies.a.inertia: must be [Jxx, Jyy, Jzz] or [Jxx, Jyy, Jzz, Jxy, Jxz, Jyz]"),
    (put("bodies/a/inertia/1", -1), "bodies.a.inertia: moments of inertia must be zero or positive, found -1.0 at [1]"),
    (put("bodies/a/inertia/4", "2*("), "bodies.a.inertia[4]: "),
    (put("bodies/a/omega", 1), "bodies.a.omega: must be a list [x, y, z] in a spatial model, found 1"),
    (drop("bodies/a/mass"), "bodies.a.mass: is missing and has no default; give it"),
    (put("bodies/b", {"free": True}), "bodies.b.mass: is missing and has no default; give it, and inertia"),
    (put("bodies/b", {"shapes": [{"type": "sphere", "radius": 1}]}),
     "bodies.b.mass: is missing and has no default; give it, and inertia, or give a shape mass or density"),
    (put("bodies/b/mass", 1), "bodies.b.shapes[0]: has a mass although the body gives its own; leave out one of them"),
    (put("bodies/b/center", [1, 0, 0]), "bodies.b.center: follows from the shapes; leave it out"),
    (put("bodies/b/shapes/0/type", "bix"), "bodies.b.shapes[0].type: unknown shape type 'bix'; did you mean 'box'?"),
    (put("bodies/b/shapes/0/mass", 1), "bodies.b.shapes[0]: has both mass and density; leave out one of them"),
    (put("bodies/b/shapes/0/size", [1, 2, 0]), "bodies.b.shapes[0].size[2]: must be positive, found 0.0"),
    (put("bodies/b/shapes/0/color", "red"), "bodies.b.shapes[0].color: must be a colour as \"#rrggbb\", found 'red'"),
    (put("bodies/b/shapes/1/density", 1), "bodies.b.shapes[1]: has both mass and density; leave out one of them"),
    (put("bodies/b/shapes/1", {"type": "rod", "from": [0, 0, 0], "to": [1, 0, 0], "density": 1}),
     "bodies.b.shapes[1]: has a density but no radius; give the radius, or the mass in place of the density"),
    (put("bodies/b/shapes/1/to", [0, 0, 0]), "bodies.b.shapes[1]: must not end where it begins; a rod needs a length"),
    (put("bodies/b/shapes/1/to", [1, 0]), "bodies.b.shapes[1].to: must be [x, y, z] in a spatial model, found [1, 0]"),
    (drop("bodies/b/shapes/1/from"), "bodies.b.shapes[1].from: is missing and has no default; give it"),
    (put("bodies/b/shapes/2/orientation/sequence", "321"), "must be '313' or 'rpy', found '321'"),
    (put("bodies/a/orientation/x", [1, 0, 0]), "must be given in one form, found angle, axis, x; allowed are"),
    (put("bodies/a/orientation", {}), "bodies.a.orientation: must be given in one form, found nothing; allowed are"),
    (put("bodies/a/orientation", {"quaternion": [0, 0, 0, 0]}), "quaternion must not be [0, 0, 0, 0]; no turn is [1,"),
    (put("bodies/a/orientation/axis", [0, 0, 0]), "bodies.a.orientation.axis: must not be [0, 0, 0]; a direction"),
    (put("markers/tip/orientation/y", [2, 0, 0]), "markers.tip.orientation: x and y must not be parallel, found [1.0"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "expected"), SPATIAL_REFUSED, ids=[d.__name__ for d, _ in SPATIAL_REFUSED])
def test_one_damage_to_a_spatial_file_gives_one_line_that_names_it(damage, expected):
    data = json.loads(SPATIAL)
    damage(data)
    (problem,) = problems_of(json.dumps(data))
    assert expected in problem


def test_a_planar_model_has_nothing_spatial():
    data = json.loads(SPATIAL)
    del data["dimensions"], data["joints"], data["motions"]
    found = problems_of(json.dumps(data))
    places = ["gravity", "markers.tip.at", "markers.tip.orientation", "bodies.a.inertia", "bodies.a.center"]
    places += [f"bodies.a.{name}" for name in ("position", "orientation", "velocity", "omega")]
    places += ["bodies.b.shapes[0].at", "bodies.b.shapes[1].from", "bodies.b.shapes[1].to",
               "bodies.b.shapes[2].orientation", "bodies.b"]  # fmt: skip
    assert [problem.split(": ")[0] for problem in found[: len(places)]] == places
    assert all(problem.endswith('; a spatial model says "dimensions": 3') for problem in found[: len(places)])


def test_shapes_of_planar_bodies_are_drawn_only():
    shapes = [Sphere(radius=1)]
    assert Description(format_version=1, name="p", bodies={"b": Body(mass=1, inertia=1, free=True, shapes=shapes)})
    heavy = {"b": Body(free=True, shapes=[Sphere(radius=1, mass=2)])}
    with pytest.raises(ModelError, match=r"bodies\.b: a planar body gives its mass and inertia itself"):
        Description(format_version=1, name="p", bodies=heavy)


def test_a_broken_entry_causes_no_second_finding():
    assert len(problems_of(damaged(put("markers/hub", None)))) == 1  # "hub" still exists for the joint
    assert len(problems_of(damaged(drop("joints/guide/type")))) == 1
    assert len(problems_of(damaged(put("bodies", [])))) == 1  # else every marker would lose its body
    assert len(problems_of(QUARTER.replace('"bodies"', '"bodys"'))) == 1
    assert len(problems_of(QUARTER.replace('"coordinates"', '"coordinate"'))) == 1
    only_joint = damaged(
        lambda data: (data["forces"].clear(), data["outputs"].clear(), data["joints"]["guide"].pop("type"))
    )
    assert len(problems_of(only_joint)) == 1  # "car" is meant to be held by the broken joint


def test_a_misspelt_body_also_leaves_the_meant_one_alone():
    first, second = problems_of(damaged(put("markers/hub/body", "weel")))
    assert first.startswith(
        "markers.hub.body: no body is named 'weel'; did you mean 'wheel'?; known: ground, car, wheel"
    )
    assert second.startswith("bodies.wheel: nothing refers to it")


def test_a_body_alone_is_refused_unless_free_or_mentioned():
    alone = {"format_version": 1, "name": "alone", "bodies": {"m": {"mass": 1, "inertia": 1, "text": "m"}}}
    assert problems_of(json.dumps({**alone, "inputs": {"u": {"unit": "m"}}}))[0].startswith("bodies.m: nothing refers")
    assert Description.from_json(json.dumps({**alone, "outputs": {"x": "2*m.x"}}))
    free = Body(mass=1, inertia=1, free=True)
    assert Description(format_version=1, name="alone", bodies={"m": free})


def test_every_reserved_name_is_refused():
    for name in sorted(RESERVED):
        (problem,) = problems_of(json.dumps({"format_version": 1, "name": "r", "parameters": {name: {"value": 1}}}))
        assert problem.startswith(f"parameters.{name}: the name is reserved")


def test_elements_built_in_python_are_refused_as_model_errors():
    with pytest.raises(ModelError) as caught:
        DummySpring(i=Marker(body="a"), j={"body": "b", "at": [0]}, free_length=-1, stifness=3)
    assert caught.value.problems == [
        "DummySpring.j.at: must be a list [x, y], or [x, y, z] in a spatial model, found [0]",
        "DummySpring.stiffness: is missing and has no default; give it",
        "DummySpring.free_length: must be positive, found -1.0",
        "DummySpring: unknown entry 'stifness'; did you mean 'stiffness'?; "
        "known: text, i, j, stiffness, damping, free_length",
    ]
    cyclic: list = []
    cyclic.append(cyclic)
    with pytest.raises(ModelError, match=r"joints\.a: must be an object"):
        Description(format_version=1, name="cyclic", joints={"a": cyclic})
    with pytest.raises(ModelError, match=r"bodies\.'3': must be a name in quotes, found 3"):
        Description(format_version=1, name="keys", bodies={3: Body(mass=1, inertia=1, free=True)})


def damage_bytes(random_, text: str) -> bytes:
    """Flip, delete or insert some bytes."""
    content = bytearray(text.encode())
    for _ in range(random_.randint(1, 2)):
        place = random_.randrange(len(content))
        action = random_.randrange(4)
        if action == 0:
            content[place] ^= 1 << random_.randrange(8)
        elif action == 1:
            del content[place : place + random_.randint(1, 30)]
        elif action == 2:
            content[place:place] = random_.choice(
                [b"{", b"]", b'"', b",", b"-", b"e9999", b"\x00", b"\xff", b"\\ud800", b"["]
            )
        else:
            content[place] = random_.randrange(256)
    return bytes(content)


ODD_KEYS = ["", "ground", "2x", "x y", "type", "unit", "car", "\ud800", "K" * 500]
ODD_VALUES = [
    *(None, True, -1, 0, HUGE, 1e308, "", " ", "ground", "time", "a+", "\ud800", "x" * 5000, "(" * 5000, "1e999"),
    *([], {}, [[]], [1, 2], ["a", None], {"": 1}, {"body": "ground"}, {"type": "dummy_hinge"}, "der(der(x))"),
]


def damage_data(random_, text: str) -> bytes:
    """Delete entries, rename them, or put other values in their place: odd ones, or those of another entry."""
    data = json.loads(text)
    for _ in range(random_.randint(1, 3)):
        parent, key = random_.choice(entries_of(data))
        other, other_key = random_.choice(entries_of(data))
        action = random_.randrange(4)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[random_.choice(ODD_KEYS)] = parent.pop(key)
        elif action == 2:
            parent[key] = copy.deepcopy(other[other_key])
        else:
            parent[key] = copy.deepcopy(random_.choice(ODD_VALUES))
    return json.dumps(data).encode()


def entries_of(data) -> list[tuple]:
    """(container, key) of everything inside, breadth first."""
    found = [(data, key) for key in data]
    for container, key in found:  # grows while it is walked
        child = container[key]
        if isinstance(child, dict | list):
            found += [(child, k) for k in (child if isinstance(child, dict) else range(len(child)))]
    return found


@pytest.mark.parametrize("damage", [damage_bytes, damage_data])
@pytest.mark.parametrize("block", range(5))
def test_a_damaged_file_gives_a_model_error_or_a_description(damage, block):
    refused = 0
    for seed in range(100 * block, 100 * block + 100):  # 1,000 files in all
        content = damage(random.Random(seed), (QUARTER, SPATIAL)[seed % 2])
        try:
            model = Description.from_json(content, "damaged.json")
        except ModelError as error:
            refused += 1
            assert error.problems and all(p.startswith("damaged.json: ") for p in error.problems), seed
            str(error).encode()  # printable everywhere
        else:
            assert Description.from_json(model.to_json()) == model, seed
    assert refused > 50  # otherwise the damage is no damage


def test_a_chain_of_a_thousand_bodies_is_read():
    bodies = {f"b{k}": {"mass": 1, "inertia": 1} for k in range(1000)}
    joints = {
        f"j{k}": {"type": "dummy_hinge", "i": {"body": f"b{k - 1}" if k else "ground"}, "j": {"body": f"b{k}"}}
        for k in range(1000)
    }
    model = Description(format_version=1, name="chain", bodies=bodies, joints=joints)
    assert len(list(model.elements())) == 2000


# Families and schema --------------------------------------------------------------------------------------------------


def test_a_user_module_adds_a_joint_after_import(monkeypatch):
    monkeypatch.setattr(Joint, "_table", dict(Joint._table))  # what it adds is gone afterwards
    source = (
        "from mbdfmu.description import Joint, Value\n"
        "class Belt(Joint, name='users_belt'):\n"
        "    'A belt.'\n"
        "    ratio: Value = 1.0\n"
    )
    exec(compile(source, "users_module.py", "exec"), {"__name__": "users_module"})
    text = QUARTER.replace('"dummy_hinge"', '"users_belt", "ratio": "k/2"')
    model = Description.from_json(text)
    assert model.joints["axle"].ratio == "k/2" and type(model.joints["axle"]) is Joint.named("users_belt")
    assert Description.from_json(model.to_json()) == model
    assert "users_belt" in json.dumps(schema())


def test_a_family_knows_its_members():
    assert {"dummy_hinge", "dummy_slider"} <= set(Joint.names()) and "dummy_spring" not in Joint.names()
    assert Joint.members()["dummy_hinge"] is Joint.named("dummy_hinge") is DummyHinge
    assert DummyHinge.type_name == "dummy_hinge" and DummyHinge.family == "joint" and Joint.type_name == ""
    assert DummyHinge.summary() == "A joint for these tests." and DummySlider.summary() == ""


def test_a_taken_name_is_refused_and_a_repeated_definition_is_not():
    class Family(Registered, family="scheme"):
        pass

    def define(place):
        namespace = {"Family": Family, "__name__": place}
        exec("class Member(Family, name='member'): pass", namespace)
        return namespace["Member"]

    define("first")
    again = define("first")  # a reloaded module
    assert Family.named("member") is again
    with pytest.raises(TypeError, match=r"second\.Member: the scheme name 'member' is taken by first\.Member"):
        define("second")
    with pytest.raises(TypeError, match="may hold letters"):
        type("Odd", (Family,), {}, name="odd name")
    with pytest.raises(TypeError, match="but no family"):
        type("Lost", (Registered,), {}, name="lost")


def test_families_hold_plain_dataclasses_too():
    class Family(Registered, family="options"):
        pass

    @dataclass(frozen=True, slots=True)  # slots make a second class of the same name
    class Options(Family, name="plain"):
        alpha: float = -0.1

    assert Family.named("plain")().alpha == -0.1
    with pytest.raises(ModelError, match=r"unknown options type 'plan'; did you mean 'plain'\?; known: plain"):
        Family.named("plan")


def test_a_class_without_a_type_name_is_no_element():
    class Unnamed(DummyHinge):
        pass

    for cls in (Joint, Unnamed):
        with pytest.raises(TypeError, match="has no type name; use a member of the joint family"):
            cls(i=Marker(body="a"), j=Marker(body="b"))


def test_the_schema_lists_every_entry_and_every_registered_element():
    document = schema()
    definitions = document["$defs"]
    assert set(document["properties"]) == set(Description.model_fields)
    assert document["required"] == ["format_version", "name"] and document["additionalProperties"] is False
    for family, member, fields in (
        ("Joint", DummySlider, {"type", "text", "i", "j", "start", "active", "axis"}),
        ("Force", DummySpring, {"type", "text", "i", "j", "stiffness", "damping", "free_length"}),
    ):
        entry = definitions[member.__name__]
        assert set(entry["properties"]) == fields and entry["properties"]["type"] == {"const": member.type_name}
        assert {"$ref": f"#/$defs/{member.__name__}"} in definitions[family]["oneOf"]
    assert definitions["DummySpring"]["required"] == ["type", "i", "j", "stiffness"]
    assert definitions["DummySpring"]["properties"]["stiffness"]["unit"] == "N/m"
    assert definitions["Output"]["anyOf"][1] == {"type": "string"}


def test_the_schema_accepts_what_the_reader_accepts():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(QUARTER), schema())
    jsonschema.validate(json.loads(SPATIAL), schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(damaged(put("bodies/car/mass", 0))), schema())


# Units ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical", "exponents"),  # kg m s A K mol cd rad
    [
        ("", "", (0, 0, 0, 0, 0, 0, 0, 0)),
        ("1", "", (0, 0, 0, 0, 0, 0, 0, 0)),
        ("N.m.s/rad", "N.m.s/rad", (1, 2, -1, 0, 0, 0, 0, -1)),
        ("N*m", "N.m", (1, 2, -2, 0, 0, 0, 0, 0)),
        ("m/s^2", "m/s2", (0, 1, -2, 0, 0, 0, 0, 0)),
        ("m/s/s", "m/s2", (0, 1, -2, 0, 0, 0, 0, 0)),
        ("m.s-2", "m/s2", (0, 1, -2, 0, 0, 0, 0, 0)),
        ("kg m2".replace(" ", "."), "kg.m2", (1, 2, 0, 0, 0, 0, 0, 0)),
        ("kg * m**2", "kg.m2", (1, 2, 0, 0, 0, 0, 0, 0)),
        ("W/(A.K)", "W/(A.K)", (1, 2, -3, -1, -1, 0, 0, 0)),
        ("(m/s)^2", "m2/s2", (0, 2, -2, 0, 0, 0, 0, 0)),
        ("1/s", "1/s", (0, 0, -1, 0, 0, 0, 0, 0)),
        ("V.A", "V.A", (1, 2, -3, 0, 0, 0, 0, 0)),
        ("m/m", "", (0, 0, 0, 0, 0, 0, 0, 0)),
    ],
)
def test_units_are_read_in_every_usual_spelling(text, canonical, exponents):
    read = unit(text)
    assert (read.text, read.exponents, read.factor, read.si) == (canonical, exponents, 1.0, canonical)
    assert unit(canonical) == read


@pytest.mark.parametrize(
    ("text", "factor", "si"),
    [
        ("deg", math.pi / 180, "rad"),
        ("rpm", 2 * math.pi / 60, "rad/s"),
        ("mm", 1e-3, "m"),
        ("km/h", 1000 / 3600, "m/s"),
        ("N.mm/deg", 1e-3 * 180 / math.pi, "N.m/rad"),
        ("MPa", 1e6, "Pa"),
        ("g.cm2", 1e-7, "kg.m2"),
        ("kN", 1e3, "N"),
        ("1/min", 1 / 60, "1/s"),
    ],
)
def test_display_units_have_a_factor_and_an_si_partner(text, factor, si):
    read = unit(text)
    assert read.factor == pytest.approx(factor, rel=4e-16) and read.si == si  # a few roundings of one product
    assert unit(si).is_si and unit(si).exponents == read.exponents


def test_electrical_and_mechanical_power_agree():
    for text in (
        "W",
        "J/s",
        "N.m/s",
        "V.A",
        "ohm.A2",
        "V2/ohm",
        "C.V/s",
        "F.V2/s",
        "H.A2/s",
        "Wb.A/s",
        "T.m2.A/s",
        "Pa.m3/s",
    ):
        assert unit(text).exponents == unit("W").exponents, text


def test_every_symbol_is_a_unit_whose_partner_is_si():
    for symbol in symbols():
        read = unit(symbol)
        assert unit(read.si).is_si and unit(read.si).exponents == read.exponents and read.text == symbol
    assert unit("kg").is_si and unit("cd").is_si  # no prefixes


def test_display_units_measure_the_same_quantity():
    for text in (
        "m",
        "m/s",
        "m/s2",
        "rad",
        "rad/s",
        "rad/s2",
        "N",
        "N.m",
        "N/m",
        "N.m/rad",
        "kg",
        "kg.m2",
        "s",
        "J",
        "Pa",
    ):
        shown = display_units(text)
        assert shown and all(s.exponents == unit(text).exponents and s.si == text for s in shown)
    assert [s.text for s in display_units("rad/s")] == ["deg/s", "rpm"] and display_units("mol") == ()


@pytest.mark.parametrize(
    ("text", "rate"),
    [("m", "m/s"), ("m/s", "m/s2"), ("rad/s", "rad/s2"), ("", "1/s"), ("1/s", "1/s2"), ("N.s/m", "N/m"), ("m.s", "m"),
     ("m/A", "m/(A.s)"), ("s", "")],
)  # fmt: skip
def test_the_unit_of_a_rate_is_divided_by_seconds(text, rate):
    assert differentiated(text) == rate
    a, b = unit(text).exponents, unit(rate).exponents
    assert [x - y for x, y in zip(a, b, strict=True)] == [0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("furlong", "unknown symbol 'furlong'"),
        ("Nm", r"unknown symbol 'Nm'; did you mean 'N\.m'\?"),
        ("Rad", r"did you mean 'rad'\?"),
        ("m/s.kg", r"a product after '/' is ambiguous; write 'm/\(s\.A\)' or 'A\.m/s'"),
        ("m/", "it ends too early"),
        ("(m", r"a '\)' is missing"),
        ("m)", r"unexpected '\)'"),
        ("m^x", "expected a whole number as power, found 'x'"),
        ("m10", "the power of m is beyond 9"),
        ("m" + "9" * 5000, "a power is beyond 9"),
        ("2", "expected a unit, found '2'"),
        ("m m", "unexpected 'm'"),
        ("°", "unexpected '°'"),
        ("(" * 5000 + "m", "parentheses deeper than 8"),
    ],
)
def test_what_is_no_unit_is_refused_with_the_reason(text, reason):
    with pytest.raises(ModelError, match=reason) as caught:
        unit(text)
    assert len(str(caught.value)) < 300


def test_a_bare_value_is_a_parameter() -> None:
    bodies = {"b": {"mass": "m", "inertia": 1, "free": True}}
    data = {"format_version": 1, "name": "x", "parameters": {"m": 2}, "bodies": bodies}
    read = Description.from_json(json.dumps(data))
    assert read.parameters["m"] == Parameter(value=2.0)
    assert read.to_data()["parameters"] == {"m": 2.0}
