"""Models with components of the Modelica Standard Library: what rumoca reads, what the library knows, how they move.

The library itself comes from where the environment variable MBDFMU_MSL says: the folder that holds `Modelica`,
`ModelicaServices` and `Complex.mo`.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from modelica_samples import cases, sample
from reference.modelica import POINTS, TIGHT, deviations, driving, exported, free_places, ramps, read
from reference.models import link, on
from reference.models import model as planar_model

import mbdfmu as mbd
from mbdfmu.counterparts import Counterpart, Library, Local
from mbdfmu.forces import ForceElement
from mbdfmu.joints import JointElement
from mbdfmu.lowering import lower
from mbdfmu.modelica import multibody
from mbdfmu.modelica.multibody.acting import LOAD
from mbdfmu.modelica.multibody.beginning import Beginning
from mbdfmu.modelica.multibody.collector import PORTS
from mbdfmu.modelica.multibody.independent import choose, labels, numbered
from mbdfmu.modelica.multibody.mechanism import PARTS
from mbdfmu.modelica.multibody.sensors import SENSORS
from mbdfmu.modelica.multibody.tree import spanning_tree
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.words import identifier
from mbdfmu.signals import Signal

rumoca = pytest.importorskip("rumoca", reason="rumoca is not installed; it comes with the extra of the tests")

MSL = os.environ.get("MBDFMU_MSL", "")
needs_library = pytest.mark.skipif(not MSL, reason="MBDFMU_MSL does not say where the Modelica Standard Library is")
REFUSED = {
    "trebuchet": "event 'release' changes what is held",
    "bouncing_ball": "impact 'bounce' holds its gap for a while",
}
SIZES = {"chain": {"N": 3}, "chain3d": {"N": 3}, "ring": {"N": 3}, "four_bar": {"N": 2}}
MODELS = [name for name in mbd.models.names() if name not in REFUSED]
# s; four_bar is level, hence singular, at 0.714 s, where rumoca's choice of states ends; full_vehicle takes minutes;
# later than this rumoca's own check of its steps stops bricard, by 1.1e-9 for 1e-9
ENDS = {"four_bar": 0.6, "full_vehicle": 0.1, "bricard": 1.0}
LONG = ("cylinder_box",)  # of formulas that take a parser long
OPEN = ("andrews", "andrews_stiff")  # by parameters that are changed
TOLERANCE = 1e-4  # of a signal's range
_TEXT = r'(?: "(?:[^"\\]|\\.)*")?'
_COMPONENT = re.compile(rf"^  (?:inner )?([A-Z][\w.]*) (\w+)(\(.*?\))?{_TEXT} annotation\(Placement", re.MULTILINE)


def load(name: str) -> mbd.Model:
    return mbd.models.load(name, **SIZES.get(name, {}))


def wanted(model: mbd.Model) -> list[Signal]:
    """The outputs, or the coordinates of a model that has none."""
    found = [s for s in model.symbolic.signals.values() if s.causality == "output"]
    signals = model.symbolic.signals
    return found or [signals[c.name] for c in model.symbolic.coordinates if c.name in signals]


def marked() -> mbd.Model:
    """Two bars whose tip and hinges are measured."""
    bodies = {name: {"mass": 2, "inertia": 0.1, "position": [x, 0]} for name, x in (("bar", 0.5), ("arm", 1.5))}
    hinge = link("revolute", on("ground"), on("bar", -0.5))
    elbow = link("revolute", on("bar", 0.5), on("arm", -0.5))
    joints = {"hinge": hinge, "elbow": elbow}
    values = ("tip.x", "sqrt(tip.vx^2 + tip.vy^2)", "hinge.reaction.x", "elbow.reaction.y")
    outputs = {name: {"value": value} for name, value in zip(("x", "speed", "pull", "push"), values, strict=True)}
    return mbd.Model.from_description(
        planar_model("marked", bodies=bodies, joints=joints, outputs=outputs, markers={"tip": on("arm", 0.5, 0.1)})
    )


def parallelogram() -> mbd.Model:
    """Three cranks, one of which is one too many."""
    bar = {"mass": 2, "inertia": 0.3, "position": ["0.5 + cos(0.7)", "sin(0.7)"]}
    bodies: dict[str, Any] = {"bar": bar}
    joints = {}
    for k in range(3):
        place = [f"{0.5 * k} + 0.5*cos(0.7)", "0.5*sin(0.7)"]
        bodies[f"crank{k}"] = {"mass": 1, "inertia": 0.1, "position": place, "angle": 0.7}
        joints[f"foot{k}"] = link("revolute", on("ground", 0.5 * k), on(f"crank{k}", -0.5))
        joints[f"head{k}"] = link("revolute", on(f"crank{k}", 0.5), on("bar", 0.5 * (k - 1)))
    outputs = {"angle": "foot0.angle", "level": "bar.phi"}
    return mbd.Model.from_description(planar_model("parallelogram", bodies=bodies, joints=joints, outputs=outputs))


def pushed(dimensions: int) -> mbd.Model:
    """A bar on a hinge and a slide on the bar, driven along and about axes that no frame has."""
    space = dimensions == 3
    tilt: dict[str, Any] = {"orientation": {"axis": [1, 0.5, 0.2], "angle": 0.4}} if space else {"angle": 0.4}
    along, about = {"axis": [0.6, 1, 0.3][:dimensions]}, {"axis": [0.2, -0.5, 1]} if space else {}
    ground, bar, slide = {"body": "ground", **tilt}, {"body": "bar", **tilt}, {"body": "slide", **tilt}
    inertia: Any = [0.1, 0.2, 0.25] if space else 0.2
    bodies = {name: {"mass": 2, "inertia": inertia, "position": [0, 0, 0][:dimensions]} for name in ("bar", "slide")}
    joints = {"hinge": link("revolute", ground, bar, **about), "guide": link("prismatic", bar, slide, **along)}
    if space:
        joints["guide"] = link("cylindrical", bar, slide, **along)
    backwards = {"axis": [-0.2, 0.5, -1]} if space else {}
    forces = {
        "drive": link("rotational", ground, bar, stiffness=5, damping=0.2, torque="3*sin(4*time)", **about),
        "brake": link("rotational", bar, ground, damping=0.4, **backwards),
        "push": link("translational", bar, slide, stiffness=50, damping=1, force="5*time", **along),
        "wind": link("single", bar, slide, force="2*cos(3*time)", axis=[1, 0.2, -0.4][:dimensions], frame=ground),
        "stop": link("bump_stop", ground, slide, stiffness=80, upper=0.01, axis=[1, 0.2, 0.1][:dimensions]),
    }
    if space:
        forces["twist"] = link("rotational", bar, slide, stiffness=3, torque="time", **along)
    outputs = {"angle": "hinge.angle", "way": "guide.displacement", "x": "slide.x", "y": "slide.y"}
    sections = {"bodies": bodies, "joints": joints, "forces": forces, "outputs": outputs}
    gravity = {"gravity": [0, -9.81, 0], "dimensions": 3} if space else {}
    return mbd.Model.from_description(planar_model("pushed", **sections, **gravity))


def turned() -> mbd.Model:
    """A planar hinge that a motion turns, and another one that an input turns."""
    bodies = {name: {"mass": 2, "inertia": 0.1, "position": [x, 0]} for name, x in (("bar", 0.5), ("arm", 1.5))}
    joints = {
        "hinge": link("revolute", on("ground", 0, 0, 0.3), on("bar", -0.5, 0, 0.3)),
        "elbow": link("revolute", on("bar", 0.5), on("arm", -0.5)),
    }
    motions = {
        "drive": {"of": "hinge.angle", "value": "0.5*time^2"},
        "speed": {"of": "elbow.angle", "value": "rate", "level": "velocity"},
    }
    outputs = {"x": "arm.x", "angle": "hinge.angle", "needed": "drive.reaction.force", "pull": "hinge.reaction.x"}
    sections: dict[str, Any] = {"motions": motions, "inputs": {"rate": {"unit": "rad/s"}}}
    return mbd.Model.from_description(planar_model("turned", bodies=bodies, joints=joints, outputs=outputs, **sections))


def switched() -> mbd.Model:
    """A state that events set begins where its parameter says."""
    bodies = {"bar": {"mass": 2, "inertia": 0.2, "position": [0.5, 0]}}
    joints = {"hinge": link("revolute", on("ground"), on("bar", -0.5))}
    states = {"n": {"rate": 0, "start": 2}, "v": {"rate": "-v", "start": 3}}
    later, fast = {"when": "time >= 0.1 and v > 1", "set": {"n": "n + 1"}}, {"when": "v >= 5", "set": {"n": 100}}
    events = {"later": later, "fast": fast}
    sections: dict[str, Any] = {"states": states, "events": events, "outputs": {"count": "n", "angle": "hinge.angle"}}
    return mbd.Model.from_description(planar_model("switched", bodies=bodies, joints=joints, **sections))


OWN = {
    "marked": marked, "parallelogram": parallelogram, "pushed": partial(pushed, 2), "pushed3d": partial(pushed, 3),
    "turned": turned, "switched": switched,
}  # fmt: skip


def written(model: mbd.Model) -> str:
    return multibody.written(Subject(model.compile().lowered, model.start, wanted(model), "A test"))


def one_line(text: str) -> str:
    """Statements on one line each."""
    return re.sub(r"\n {4,}", " ", text)


def components(text: str) -> dict[str, tuple[str, list[str]]]:
    """By name: the class, and the names of its modifiers."""
    found = _COMPONENT.findall(one_line(text.partition("\nequation\n")[0]))
    return {name: (kind, list(modifiers(given[1:-1]))) for kind, name, given in found if kind not in PORTS.values()}


def modifiers(given: str) -> Iterator[str]:
    depth, word = 0, ""
    for letter in f"{given},":
        if letter == "," and depth == 0:
            yield re.split(r"[=(]", word.strip())[0]
            word = ""
            continue
        depth += (letter in "({[") - (letter in ")}]")
        word += letter
    assert depth == 0


def facts() -> dict[str, list[Library]]:
    """Everything of the library that elements and the writer know, by class."""
    given: list[Counterpart | None] = [*PARTS, *SENSORS]
    for joint in JointElement.members().values():
        given += [joint.modelica, joint.closing]
    given += [force.modelica for force in ForceElement.members().values()]
    found: dict[str, list[Library]] = {}
    for fact in given:
        if isinstance(fact, Library):
            found.setdefault(fact.name, []).append(fact)
    return found


def local_facts() -> dict[str, list[Local]]:
    """The classes that elements bring with them."""
    given: list[Counterpart | None] = [force.modelica for force in ForceElement.members().values()]
    for joint in JointElement.members().values():
        given += [joint.modelica, joint.closing]
    return {fact.name: [fact] for fact in given if isinstance(fact, Local)}


def check_facts(text: str) -> None:
    """Classes, parameters and connectors are those of the facts; local classes are there."""
    known: dict[str, Any] = {**facts(), **local_facts()}
    parts = components(text)
    kinds = {kind for kind, _ in parts.values() if "." not in kind}
    assert kinds == set(re.findall(r"^  model (\w+)", text, re.MULTILINE))
    for name, (kind, given) in parts.items():
        if kind == LOAD:
            assert given == [""], name
            continue
        assert kind in known, f"{name}: no element says anything of {kind}"
        allowed = {""}.union(*(fact.modified for fact in known[kind]))
        assert set(given) <= allowed, f"{name}: {set(given) - allowed}"
    for connector in (end for pair in re.findall(r"connect\((\S+), (\S+)\)", one_line(text)) for end in pair):
        name, _, port = connector.partition(".")
        kind = parts[name][0]
        ports = {"frame_b"} if kind == LOAD else {p for fact in known[kind] for p in fact.connectors}
        assert port in ports or (port == "frame_resolve" and "resolveInFrame" in parts[name][1]), connector


# ---------------------------------------------------------------- the diagram

Box = tuple[int, int, int, int]
_NUMBERS = r"\{(-?\d+), (-?\d+)\}"


def boxes(text: str) -> dict[str, Box]:
    """Where components stand: left, bottom, right, top."""
    found = {}
    placed = rf"(\w+)(?:\([^\n]*?\))?{_TEXT} annotation\(Placement\(transformation\(extent=\{{{_NUMBERS}, {_NUMBERS}\}}"
    for m in re.finditer(rf"^  (?:inner )?[A-Z][\w.]* {placed}(?:, rotation=90, origin={_NUMBERS})?\)", text, re.M):
        x, y, u, v, right, up = (int(n or 0) for n in m.groups()[1:])
        found[m[1]] = min(x, u) + right, min(y, v) + up, max(x, u) + right, max(y, v) + up
    return found


def meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def check_diagram(text: str) -> None:
    """No component stands on another one, and no line runs over one or askew."""
    text = one_line(text)
    standing = boxes(text)
    ports = {name for kind, name, _ in _COMPONENT.findall(text) if kind in PORTS.values()}
    assert set(standing) == set(components(text)) | ports
    for (one, a), (other, b) in itertools.combinations(standing.items(), 2):
        assert not meet(a, b), f"{one} and {other}"
    for points in re.findall(r"annotation\(Line\(points=\{(.*?)\}, color", text):
        ends = [(int(x), int(y)) for x, y in re.findall(_NUMBERS, points)]
        for (x, y), (u, v) in itertools.pairwise(ends):
            assert x == u or y == v
            crossed = [n for n, b in standing.items() if meet((min(x, u), min(y, v), max(x, u), max(y, v)), b)]
            assert not crossed, f"{points} runs over {crossed}"


# ---------------------------------------------------------------- text


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_read_and_uses_only_what_elements_say(name: str) -> None:
    text = written(load(name))
    read(text)
    check_facts(text)
    check_diagram(text)


@pytest.mark.parametrize(("section", "name", "dimensions"), [
    pytest.param(*case, marks=[pytest.mark.nightly] if case[1] in LONG else []) for case in cases()])  # fmt: skip
def test_every_joint_and_force_is_read_and_is_what_it_says(section: str, name: str, dimensions: int) -> None:
    model = sample(section, name, dimensions)
    text = written(model)
    read(text)
    check_facts(text)
    check_diagram(text)
    element: Any = getattr(model.description, section)["ELEMENT"]
    fact = element.modelica if section == "joints" else element.counterpart(dimensions)
    free = (name, dimensions) == ("rotational", 3)  # no joint keeps its axis
    if isinstance(fact, Library | Local) and not free:
        assert components(text)["ELEMENT"][0] == fact.name
    else:
        assert LOAD in {kind for kind, _ in components(text).values()}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", OWN)
def test_our_own_models_are_read(name: str) -> None:
    text = written(OWN[name]())
    read(text)
    check_facts(text)
    check_diagram(text)


def test_inputs_and_outputs_are_connectors_on_the_edges() -> None:
    text = one_line(written(load("quarter_car")))
    declared = re.findall(r"Interfaces\.Real(Input|Output) (\w+)\(.*?extent=(\S+ \S+ \S+ \S+)\), iconT", text)
    assert [name for kind, name, _ in declared if kind == "Input"] == ["road", "actuator", "der_road"]
    assert len({place for *_, place in declared}) == len(declared) == 11
    for kind, _, place in declared:
        left, _, right, _ = map(int, re.findall(r"-?\d+", place))
        assert (right < -10) if kind == "Input" else (left > 100)  # world is around 0, and bodies begin there


def test_what_outputs_read_is_measured_by_sensors() -> None:
    text = one_line(written(marked()))
    assert "x = tip_place.r[1];" in text and "speed = sqrt(tip_speed.v[1]^2 + tip_speed.v[2]^2);" in text
    assert "hinge_lambda_x = hinge_reaction.force[1];" in text
    assert "Sensors" not in written(load("chain"))  # nothing more than what is read


def test_a_loop_in_space_is_closed_by_a_local_model() -> None:
    text = one_line(written(load("four_bar3d")))
    assert "  model Ball " in text and "  Ball ball(closing_rate=closing_rate)" in text
    assert "abs(ball.gap[1])" in text  # at the start


@pytest.mark.parametrize("dimensions", [2, 3])
def test_what_acts_along_or_about_an_axis_is_a_component(dimensions: int) -> None:
    text = written(pushed(dimensions))
    kinds = {name: kind.rpartition(".")[2] for name, (kind, _) in components(text).items()}
    assert LOAD not in kinds.values()
    assert {kinds[name] for name in ("push", "wind", "stop")} == {"Force"}
    assert {kinds[name] for name in ("drive", "brake")} == {"Torque"} == {kinds.get("twist", "Torque")}


def test_a_motion_of_a_planar_hinge_is_a_torque_across_the_plane() -> None:
    text = one_line(written(turned()))
    assert "drive.torque = {0, 0, needed};" in text and "speed.torque = {0, 0, -speed_lambda" in text


def test_starts_of_states_that_events_set_are_parameters() -> None:
    text = one_line(written(switched()))
    assert "parameter Real n_start = 2" in text and "Real v(start=3, fixed=true)" in text
    assert "fast_start = v >= 5;" in text


def test_a_spring_that_changes_is_no_component_of_the_library() -> None:
    spring = link("translational", on("ground", 0, 1), on("body"), stiffness="100*(1 + 0.5*sin(time))")
    body = {"body": {"mass": 1, "inertia": 0.1, "position": [0, 0], "free": True}}
    text = written(mbd.Model.from_description(planar_model("changing", bodies=body, forces={"spring": spring})))
    assert "SpringDamperParallel" not in text and "  Load spring " in text


def test_a_guide_that_turns_is_no_component_of_the_library() -> None:
    guide = link("prismatic", on("ground"), on("body"), axis=["cos(time)", "sin(time)"])
    body = {"body": {"mass": 1, "inertia": 0.1, "position": [0, 0]}}
    text = written(mbd.Model.from_description(planar_model("turning", bodies=body, joints={"guide": guide})))
    assert "Joints.Prismatic" not in text and "guide_gap_normal" in text


def test_rows_that_are_nothing_but_rounding_are_left_out() -> None:
    """Two guides on one slanted line: what the second one adds is 1e-17."""
    guide = link("prismatic", on("ground"), on("body"), axis=[1, 0.2])
    body = {"body": {"mass": 1, "inertia": 0.1, "position": [0, 0]}}
    model = mbd.Model.from_description(planar_model("twice", bodies=body, joints={"one": guide, "other": guide}))
    assert "gap" not in written(model).replace("gaps", "")


def test_a_loop_that_is_held_twice_is_closed_by_equations() -> None:
    text = one_line(written(parallelogram()))
    assert text.count("Joints.RevolutePlanarLoopConstraint") == 1
    assert len(re.findall(r"_gap_\w+ \"has to be zero\"", text)) == 1  # of two rows


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_equations_cannot_say_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match=re.escape(REFUSED[name])):
        load(name).export_modelica(tmp_path / "model.mo", style="multibody")
    assert not list(tmp_path.iterdir())


def test_an_element_that_says_nothing_of_modelica_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JointElement.named("revolute"), "modelica", None)
    with pytest.raises(mbd.ModelError, match=r"joint 'hinge': type 'revolute' does not say .* style equations"):
        written(load("pendulum"))


def test_the_text_is_the_same_every_time() -> None:
    assert written(load("crane")) == written(load("crane"))


def test_names_are_given_once() -> None:
    text = written(load("top"))
    parts = list(components(text))
    assert len(parts) == len(set(parts)) and "top" not in parts  # the model itself has that name


def test_starts_follow_parameters_and_are_numbers_otherwise() -> None:
    text = one_line(written(load("pendulum")))
    assert "phi(start=phi0, fixed=true), w(start=0, fixed=true)" in text and "omega_start" not in text


def test_a_planar_loop_is_cut_by_the_library_and_starts_from_its_freedom() -> None:
    text = one_line(written(load("slider_crank")))
    assert text.count("Joints.RevolutePlanarLoopConstraint") == 1
    assert text.count("fixed=true") == 2  # an angle, and its rate


def test_the_text_grows_with_the_model() -> None:
    lines = [written(mbd.models.load("chain", N=n)).count("\n") for n in (50, 100, 200)]
    assert lines[2] - lines[1] == 2 * (lines[1] - lines[0])


# ---------------------------------------------------------------- the library


@needs_library
@pytest.mark.parametrize("name", list(facts()))
def test_the_library_has_what_elements_say(name: str) -> None:
    """The class with all parameters, variables and connectors, its own or those that it extends."""
    packages, kind = name.rpartition(".")[::2]
    folder = Path(MSL, *packages.split("."))
    own = folder / f"{kind}.mo"
    text = own.read_text() if own.exists() else (folder / "package.mo").read_text()
    text += "".join(path.read_text() for path in Path(MSL, "Modelica/Mechanics/MultiBody/Interfaces").glob("*.mo"))
    for fact in facts()[name]:
        for word in (*fact.modified, *fact.connectors, *fact.inputs):
            assert re.search(rf"\b{word}\b", text), word


def driven(text: str, inputs: dict[str, tuple[float, float]]) -> str:
    """The same with ramps for its inputs, since rumoca takes none that change, nor a world inside of another model."""
    for name, formula in driving(text, inputs).items():
        text, count = re.subn(rf"{re.escape(PORTS['input'])} {name}(\([^)]*\))?", f"Real {name} = {formula}", text)
        assert count == 1
    return text


def compiled(model: mbd.Model, parameters: dict[str, float] | None = None) -> Any:
    """The text with ramps for its inputs and other parameters."""
    text = driven(written(model), ramps(model))
    for name, value in (parameters or {}).items():
        given = rf'(\n  parameter [^;"]*?\b{identifier(name)}(?:\([^;]*?\))?\s*=\s*)[^\s;]+'
        text, count = re.subn(given, rf"\g<1>{value!r}", text)
        assert count == 1 or not re.search(rf"\b{identifier(name)}\b", text), name
    return rumoca.Session(roots=[MSL]).loads(text, model=identifier(model.name))


def compare(text: Any, model: mbd.Model, end: float, given: dict[str, float] | None = None, **options: Any) -> None:
    """What is compiled against `simulate`; `given` are parameters of the run."""
    inputs, signals = ramps(model), wanted(model)
    config = rumoca.SimConfig(rtol=TIGHT, atol=TIGHT / 10, solver="rk-like", max_wall_seconds=1200)
    changed = {identifier(name): value for name, value in (given or {}).items()}
    result = text.simulate(t=(0.0, end), dt=end / POINTS, config=config, params=changed)
    assert result.time[-1] == pytest.approx(end)
    names = {s.name: identifier(s.name) for s in signals}
    found = deviations(model, end, names, result, inputs, scheme="radau", **options)
    worst = max(found, key=found.__getitem__)
    assert found[worst] <= TOLERANCE, f"{worst} is off by {found[worst]:.1e} of its range"


@needs_library
@pytest.mark.nightly
@pytest.mark.parametrize("name", MODELS)
def test_models_move_as_here(name: str) -> None:
    model = load(name)
    experiment = model.description.experiment
    assert experiment is not None
    compare(compiled(model), model, ENDS.get(name, experiment.stop_time))


@needs_library
@pytest.mark.nightly
@pytest.mark.parametrize("name", OWN)
def test_our_own_models_move_as_here(name: str) -> None:
    model = OWN[name]()
    compare(compiled(model), model, 0.3)


@needs_library
@pytest.mark.nightly
@pytest.mark.parametrize(("section", "name", "dimensions"), list(cases()))
def test_every_joint_and_force_moves_as_here(section: str, name: str, dimensions: int) -> None:
    model = sample(section, name, dimensions)
    compare(compiled(model), model, 0.4)


def changed(model: mbd.Model, name: str) -> dict[str, float]:
    """Every parameter by 7 %, but for those that are sizes of the model."""
    own = [s for s in model.symbolic.parameters if s.name in model.description.parameters]
    return {s.name: 1.07 * float(s.start or 1) for s in own if s.name not in SIZES.get(name, {})}


@needs_library
@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in MODELS if name not in OPEN])
def test_models_follow_all_of_their_parameters(name: str) -> None:
    model = load(name)
    given = changed(model, name)
    compare(compiled(model, given), model, 0.05, parameters=given)


@needs_library
@pytest.mark.nightly
@pytest.mark.parametrize("name", OPEN)
def test_what_opens_with_its_parameters_follows_each(name: str) -> None:
    """What is no freedom follows in the text, while assembly moves everything a little."""
    model = load(name)
    text = compiled(model)
    for one, value in changed(model, name).items():
        given = {one: value}
        compare(text, model, 0.03, given, parameters=given, start=free_places(model, given))


# ---------------------------------------------------------------- the start


def fixed_joints(text: str) -> list[str]:
    """Joints of which a coordinate starts where it is said to."""
    return re.findall(r"(\w+)\(n=[^;]*?phi\(start=[^;]*?fixed=true\),\s*w\(", text)


@pytest.mark.parametrize(("name", "joint"), [("slider_crank", "shaft"), ("andrews", "O"), ("slider_crank3d", "shaft"),
                                             ("four_bar3d", "shaft")])  # fmt: skip
def test_the_freedom_is_that_of_the_joint_that_is_given(name: str, joint: str, tmp_path: Path) -> None:
    assert fixed_joints(exported(mbd.models.load(name), tmp_path, "multibody")) == [joint]


@pytest.mark.parametrize("name", ["slider_crank3d", "four_bar3d"])
def test_a_loop_in_space_is_closed_at_the_start(name: str, tmp_path: Path) -> None:
    """Three positions and three speeds of the six rows follow from the gaps, at the speed that is a parameter."""
    text = exported(mbd.models.load(name), tmp_path, "multibody")
    for k in (1, 2, 3):
        assert f"  ball.gap[{k}] = 0;" in text and f"  ball.gap_rate[{k}] = 0;" in text
    assert re.search(r"w\(start=speed,\s*fixed=true\)", text)
    assert text.count("fixed=true") == 2


@pytest.mark.parametrize(("name", "ball"), [("double_wishbone", "lower_ball"), ("stewart", "ball1")])
def test_a_ball_in_a_loop_starts_where_the_loop_is_closed(name: str, ball: str, tmp_path: Path) -> None:
    """The library fixes three angles or none: of none, those that are free are equations at the start."""
    text = one_line(exported(mbd.models.load(name), tmp_path, "multibody"))
    assert re.search(rf" {ball}\([^;]*angles_fixed=false,[^;]* w_rel_a_fixed=false,", text)
    free = 1 if name == "double_wishbone" else 0
    initial = text.partition("initial equation")[2].partition("\nequation")[0]
    assert initial.count("atan2(") == free


def test_a_body_in_a_loop_in_space_starts_where_it_is_closed(tmp_path: Path) -> None:
    text = one_line(exported(mbd.models.load("rolling_disc"), tmp_path, "multibody"))
    assert "radius*sin(tilt)}, fixed={true, true, false})" in text
    assert "fixed={false, false, false}), angles_fixed=true" in text


@pytest.mark.parametrize("name", mbd.models.names())
def test_as_many_starts_are_fixed_as_there_are_freedoms(name: str, tmp_path: Path) -> None:
    """From each row beside the tree follows one coordinate, or its rate."""
    model = mbd.models.load(name)
    lowered = Subject(lowered=lower(model.description), begin=model.start, wanted=[], about="")
    m, start = lowered.model, lowered.start
    tree = spanning_tree(m)
    choice = choose(m, tree, Beginning(m, start), start)
    carrying = labels(tree.joints)
    beside = [(k, row) for k, label, row, active in numbered(m) if active and label not in carrying]
    closed = [row.level for k, row in beside if k not in choice.repeated and row.level != "acceleration"]
    assert choice.closes
    assert len(choice.dependent) == closed.count("position")
    assert len(choice.rates) == len(closed)
