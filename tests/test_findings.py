"""What is wrong with a model is said in one go, each finding with its file and place; must not know the numerics."""

import copy
import json
import random
from pathlib import Path

import pytest

import mbdfmu as mbd
from mbdfmu.errors import ModelError

SOLID = {"mass": 1, "inertia": [1, 1, 1]}
GROUND = {"body": "ground"}
WRONG_AT_EVERY_STAGE = {
    "format_version": 1, "name": "many", "dimensions": 3, "gravity": [1],
    "bodies": {"a": {**SOLID, "angle": 1}, "b": {**SOLID, "inertia": 3}, "c": SOLID, "d": {**SOLID, "mass": "1+"}},
    "joints": {
        "h": {"type": "revolute", "i": GROUND, "j": {"body": "c"}, "start": {"angel": 1}},
        "k": {"type": "spherical", "i": {"body": "a"}, "j": {"body": "c"}, "foo": 1},
        "s": {"type": "spherical", "i": {"body": "a"}, "j": {"body": "c"}},
        "g": {"type": "gear", "first": "h.angle", "second": "s.angle", "ratio": 2},
    },
    "motions": {"m": {"of": "h.angl", "value": "u"}, "n": {"of": "d.x", "value": 0}},
    "constraints": {"zero": "k.angle - d.x"},
    "outputs": {"o": "h.angle + vv", "p": "d.x + k.force.x"},
}  # fmt: skip


def findings(make) -> list[str]:
    """The first line of each finding."""
    with pytest.raises(ModelError) as caught:
        make()
    return [problem.partition("\n")[0] for problem in caught.value.problems]


def save(path: Path, data: dict) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_one_stage_hides_nothing_of_another(tmp_path: Path) -> None:
    path = save(tmp_path / "many.json", WRONG_AT_EVERY_STAGE)
    expected = [
        "gravity: must be a list [x, y], or [x, y, z] in a spatial model, found [1]",
        "bodies.d.mass: expected a number, a name or '(', found the end",
        "joints.k: unknown entry 'foo'; known: text, i, j, start",
        'bodies.a.angle: belongs to planar models; spatial models have "orientation"',
        "bodies.b.inertia: must be a list [Jxx, Jyy, Jzz] in a spatial model, found 3",
        "bodies.b: nothing refers to it",
        "joints.h.start: 'angel' is no free coordinate of the joint; did you mean 'angle'?",
        "motions.m.of: nothing is called 'h.angl'; did you mean 'h.angle'?",
        "motions.m.value: nothing is called 'u'",
        "outputs.o: nothing is called 'vv'",
    ]
    found = findings(lambda: mbd.Model.load(path))
    assert len(found) == len(expected), found
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(f"{path}: {start}")


def test_a_model_built_in_python_says_it_all_too() -> None:
    model = mbd.Model("built", dimensions=3)
    model.add("a", mbd.Body(mass=1, inertia=1))
    model.add("b", mbd.Body(mass=1, inertia=(1, 1, 1), free=True))
    model.add("o", "b.z + vv + a.x")
    found = findings(lambda: model.description)
    assert found[0].startswith("bodies.a.inertia: must be a list")
    assert found[1:] == ["outputs.o: nothing is called 'vv'"]


def test_names_that_nothing_has_come_with_the_file(tmp_path: Path) -> None:
    path = save(
        tmp_path / "m.json", {"format_version": 1, "name": "m", "coordinates": {"z": {"force": "w"}}, "mass": {"z": 1}}
    )
    model = mbd.Model.load(path)
    assert findings(model.compile) == [f"{path}: coordinates.z.force: nothing is called 'w'"]
    model.add("o", "v")  # it is no longer what is in the file
    assert findings(model.compile) == ["coordinates.z.force: nothing is called 'w'", "outputs.o: nothing is called 'v'"]


PART = {
    "format_version": 1, "name": "part", "parameters": {"k": {"value": 1}},
    "coordinates": {"z": {"force": "wind - k*z"}}, "mass": {"z": 1},
}  # fmt: skip


def test_names_in_parts_come_with_the_file_of_the_part(tmp_path: Path) -> None:
    inner = save(tmp_path / "part.json", PART)
    parts = {"left": {"file": "part.json", "parameters": {"k": "2*kk"}}, "right": {"model": PART}}
    middle = save(tmp_path / "middle.json", {"format_version": 1, "name": "middle", "submodels": parts})
    whole = {"front": {"file": "middle.json"}}
    outer = save(
        tmp_path / "outer.json", {"format_version": 1, "name": "outer", "submodels": whole, "outputs": {"o": "q"}}
    )
    start = f"{outer}: submodels.front.file: {middle}: submodels."
    found = findings(mbd.Model.load(outer).compile)
    assert [line.partition("; did you mean")[0] for line in found] == [
        f"{start}left.parameters.k: nothing is called 'front.kk'",
        f"{start}left.file: {inner}: coordinates.z.force: nothing is called 'front.left.wind'",
        f"{start}right.model: coordinates.z.force: nothing is called 'front.right.wind'",
        f"{outer}: outputs.o: nothing is called 'q'",
    ]


def test_what_cannot_be_looked_at_is_not_guessed_at() -> None:
    """Without its sections or dimensions nothing else can be said about a model; without mass nothing is."""
    bad = {**WRONG_AT_EVERY_STAGE, "dimensions": 4}
    assert not [
        line for line in findings(lambda: mbd.Model.from_description(mbd.Description(**bad))) if "planar" in line
    ]
    misspelt = {"format_version": 1, "name": "m", "dimension": 3, "bodies": {"a": {**SOLID, "free": True}}}
    (line,) = findings(lambda: mbd.Description(**misspelt))
    assert line.startswith("unknown entry 'dimension'; did you mean 'dimensions'?")


MODELS = Path(__file__).parents[1] / "models"
DAMAGE: tuple[object, ...] = (None, -1, "1+", "nobody.x", {}, [], "ground", [1, 2], {"type": "revolute"})


@pytest.mark.parametrize("seed", range(40))
def test_the_rest_of_a_damaged_model_causes_no_accident(seed: int, tmp_path: Path) -> None:
    choice = random.Random(seed)
    path = choice.choice(sorted(MODELS.glob("*.json")))
    data = json.loads(path.read_text(encoding="utf-8"))
    inner = copy.deepcopy(data)
    data["submodels"] = {"part": {"model": inner}}
    for _ in range(choice.randint(1, 4)):
        damage(data, choice)
    try:
        mbd.Model.load(save(tmp_path / "damaged.json", data)).symbolic  # noqa: B018
    except ModelError as error:
        assert len(error.problems) == len(set(error.problems))


def damage(data: dict, choice: random.Random) -> None:
    """Replace, remove or add something at one or two levels below a section."""
    section = choice.choice(sorted(key for key, value in data.items() if isinstance(value, dict)))
    entries = data[section]
    if not entries:
        return
    name = choice.choice(sorted(entries))
    if isinstance(entries[name], dict) and entries[name] and choice.random() < 0.8:
        entries, name = entries[name], choice.choice(sorted(entries[name]))
    if choice.random() < 0.2:
        del entries[name]
    else:
        entries[name] = copy.deepcopy(choice.choice(DAMAGE))
