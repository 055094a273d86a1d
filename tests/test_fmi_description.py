"""What an FMU says about itself: in its XML, in the files of its resources, to people and to importers."""

from __future__ import annotations

import re
import struct
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from fmu_instances import MODELS, shipped, user_coordinates
from lxml import etree

import mbdfmu as mbd
from mbdfmu.analyses import Settings
from mbdfmu.cli.verbs import export_fmu
from mbdfmu.fmi import archive, binaries
from mbdfmu.fmi.capabilities import CO_SIMULATION_2, RUNTIMES
from mbdfmu.fmi.interface import packed
from mbdfmu.fmi.resources import LOG_CATEGORIES
from mbdfmu.fmi.types import QUANTITIES
from mbdfmu.fmi.variables import PARAMETER, ROLES, SETTING, TYPES, Table, Variable, table_of
from mbdfmu.schemes import Scheme
from mbdfmu.units import BASE, unit

TOOL = "mbdfmu 1.2.3"
KINDS = [("native", "cs2"), ("python", "cs2"), ("native", "cs3"), ("native", "me2")]  # runtime and interface
SCHEMA = Path(fmpy.__file__).parent / "schema" / "fmi2" / "fmi2ModelDescription.xsd"


def table(model: mbd.Model, **given: Any) -> Table:
    return table_of(model.compile().lowered, Settings(), TOOL, **given)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


def xml_of(path: Path) -> etree._Element:
    return etree.fromstring(members(path)["modelDescription.xml"])


@pytest.fixture(scope="module", params=RUNTIMES)
def pendulum(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fmu") / "pendulum.fmu"
    return mbd.models.load("pendulum").export_fmu(path, runtime=request.param)


def sections(blob: bytes) -> dict[str, Any]:
    """The sections of a container, by a second reader: solver/blob.hpp."""
    assert blob[:8] == b"MBDFMU\r\n"
    (count,) = struct.unpack_from("<I", blob, 12)
    found, at = {}, 32
    for _ in range(count):
        raw, kind, _, n = struct.unpack_from("<16sIIQ", blob, at)
        size = (4, 8, 1)[kind] * n
        data = blob[at + 32 : at + 32 + size]
        name = raw.rstrip(b"\0").decode()
        found[name] = data.decode() if kind == 2 else np.frombuffer(data, ("<i4", "<f8")[kind])
        at += 32 + (size + 7) // 8 * 8
    assert at == len(blob)
    return found


# ---------------------------------------------------------------- interface.mbd


def test_the_interface_holds_the_table() -> None:
    t = table(mbd.models.load("pendulum3d"))
    found = sections(packed(t, "abc", TOOL))
    assert (found["model"], found["guid"], found["tool"]) == ("pendulum3d", "abc", TOOL)
    assert found["names"].splitlines() == [v.name for v in t.variables]
    rows = found["variables"].reshape(-1, 9)
    assert list(rows[:, 0]) == [v.reference for v in t.variables]
    assert [TYPES[k] for k in rows[:, 1]] == [v.type for v in t.variables]
    assert [ROLES[k] for k in rows[:, 2]] == [v.role for v in t.variables]
    assert list(found["starts"]) == [v.start for v in t.variables if v.settable]
    assert np.all(np.diff(found["bounds"].reshape(-1, 2)) >= 0)


def test_the_interface_holds_every_option_of_every_scheme() -> None:
    found = sections(packed(table(mbd.models.load("pendulum")), "", TOOL))
    schemes, names = found["schemes"].splitlines(), found["option.names"].splitlines()
    assert schemes == [scheme.type_name for scheme in Scheme.numbered()]
    choices = found["option.choices"].split("\n")[:-1]
    numbers, kinds = found["option.num"].reshape(-1, 3), found["options"].reshape(-1, 2)
    for k, scheme in enumerate(schemes):
        of_scheme = kinds[:, 0] == k
        assert list(numbers[of_scheme, 0]) == Scheme.named(scheme).from_options({}).native()
        assert names.count("max_iterations") == sum("max_iterations" in dir(Scheme.named(s)) for s in schemes)
    assert choices[names.index("form")] == "corrected|printed"


@pytest.mark.parametrize(
    ("model", "name", "kept"),
    [
        ("slider_crank", "crank.phi.start", ("q", 2, 1)),
        ("pendulum", "bar.omega.start", ("v", 2, 1)),
        ("pendulum3d", "link1.roll.start", ("q", 3, 3)),
        ("slider_crank_coordinates", "theta.der.start", ("v", 0, 1)),
        ("pendulum", "mass", None),
        ("slider_crank3d", "crank.x.start", None),  # its centre of mass lies elsewhere
    ],
)
def test_start_values_say_what_assembly_may_not_move(model: str, name: str, kept: tuple[str, int, int] | None) -> None:
    found = next(v for v in table(mbd.models.load(model)).variables if v.name == name).kept
    assert (found and (found.space, found.first, found.count)) == kept


# ---------------------------------------------------------------- the table


def by_name(t: Table) -> dict[str, Variable]:
    return {v.name: v for v in t.variables}


def test_settings_are_choices_where_they_choose() -> None:
    t = by_name(table(mbd.models.load("pendulum")))
    scheme = t["solver.scheme"]
    assert (scheme.type, scheme.role, scheme.choices and scheme.choices.items[int(scheme.start or 0) - 1][0]) == (
        "Enumeration", SETTING, "hht")  # fmt: skip
    assert (t["solver.options.max_iterations"].type, t["solver.options.form"].type) == ("Integer", "Enumeration")
    assert (t["solver.version"].type, t["solver.version"].variability) == ("String", "constant")


def test_value_references_do_not_move_when_locals_are_left_out() -> None:
    model = mbd.models.load("pendulum")
    whole, part = by_name(table(model)), by_name(table(model, signals=["bar.*"]))
    assert "hinge.reaction.x" not in part
    assert "bar.alpha" in part
    assert {v.name for v in whole.values() if v.role == PARAMETER} <= set(part)
    assert all(whole[name] == v for name, v in part.items())


def test_a_pattern_that_fits_nothing_is_told() -> None:
    with pytest.raises(mbd.ModelError, match="no signal fits 'bra"):
        table(mbd.models.load("pendulum"), signals=["bra.*"])


def test_models_with_events_count_them() -> None:
    assert "events.count" in by_name(table(mbd.models.load("bouncing_ball")))
    assert "events.count" not in by_name(table(mbd.models.load("pendulum")))


# ---------------------------------------------------------------- dependencies


def changes_at_once(model: mbd.Model, name: str) -> set[str]:
    """The signals that another value of one input changes, before and after a few steps."""
    changed: set[str] = set()
    for lead_in in (0, 3):
        simulation = model.start()
        rng = np.random.default_rng(5)
        for one in model.symbolic.inputs:
            span = 0.01 if one.unit.startswith("m") else 1.0
            simulation[one.name] = (one.start or 0.0) + span * rng.standard_normal()
        for _ in range(lead_in):
            simulation.step(1e-3)
        before = simulation.values().copy()
        simulation[name] = simulation[name] + 0.013
        after = simulation.values()
        moved = np.abs(after - before) > 1e-9 * (1 + np.abs(before))  # above the rounding of a solve, 1e-12
        changed |= {s for s, m in zip(simulation.names, moved, strict=True) if m}
    return changed


@pytest.mark.parametrize("name", MODELS)
def test_what_answers_at_once_to_an_input_is_declared(name: str) -> None:
    model = shipped(name)
    t = table(model)
    names = {v.reference: v.name for v in t.variables}
    declared = {v.name: {names[r] for r in v.depends} for v in t.variables if v.depends is not None}
    for one in model.symbolic.inputs:
        changed = changes_at_once(model, one.name) & declared.keys()
        assert not {signal for signal in changed if one.name not in declared[signal]}, one.name


def test_declared_dependencies_are_sharp_where_only_springs_connect() -> None:
    depends = {v.name: v.depends for v in table(mbd.models.load("quarter_car")).variables}
    names = {v.reference: v.name for v in table(mbd.models.load("quarter_car")).variables}
    assert [names[r] for r in depends["acceleration"] or ()] == ["actuator"]  # the road acts on the wheel alone
    assert [names[r] for r in depends["wheel_load"] or ()] == ["road", "der(road)"]
    assert depends["travel"] == ()


def driven_arm(level: str) -> mbd.Model:
    """Two arms and a free body; an input drives the first joint, another one is a torque in the second."""
    model = mbd.Model("driven")
    model.add("drive", mbd.Input(unit={"velocity": "rad/s", "acceleration": "rad/s2"}[level]))
    model.add("torque", mbd.Input(unit="N.m"))
    for name, x in (("arm", 0.5), ("tip", 1.5)):
        model.add(name, mbd.Body(mass=1.0, inertia=0.1, position=(x, 0.0)))
    model.add("stone", mbd.Body(mass=1.0, inertia=0.1, position=(3.5, 0.0), free=True))
    ground, elbow = {"body": "ground", "at": (0, 0)}, {"body": "arm", "at": (0.5, 0)}
    model.add("hinge", mbd.joints.Revolute(i=ground, j={"body": "arm", "at": (-0.5, 0)}))
    model.add("elbow", mbd.joints.Revolute(i=elbow, j={"body": "tip", "at": (-0.5, 0)}))
    model.add("motion", mbd.Motion(of="hinge.angle", value="drive", level=level))
    model.add("motor", mbd.forces.Rotational(i={"body": "arm"}, j={"body": "tip"}, torque="torque"))
    return model


@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_an_input_that_drives_a_joint_moves_what_hangs_on_it(level: str) -> None:
    model = driven_arm(level)
    t = table(model)
    names = {v.reference: v.name for v in t.variables}
    declared = {v.name: {names[r] for r in v.depends} for v in t.variables if v.depends is not None}
    for one in ("drive", "torque"):
        assert not {s for s in changes_at_once(model, one) & declared.keys() if one not in declared[s]}
    assert ("drive" in declared["tip.omega"]) == (level == "velocity")
    assert declared["stone.omega"] == declared["stone.alpha"] == declared["tip.phi"] == set()


# ---------------------------------------------------------------- the XML


@pytest.mark.by_day(1)
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_gives_a_valid_fmu(name: str, runtime: str, tmp_path: Path) -> None:
    path = shipped(name).export_fmu(tmp_path / "x.fmu", runtime=runtime)
    assert validate_fmu(str(path)) == []
    root = xml_of(path)
    etree.XMLSchema(etree.parse(SCHEMA)).assertValid(root)
    variables = root.findall("ModelVariables/ScalarVariable")
    for group in ("Outputs", "InitialUnknowns"):
        unknowns = root.findall(f"ModelStructure/{group}/Unknown")
        indices = [int(u.get("index", "")) for u in unknowns]
        assert indices == sorted(set(indices))
        assert all(u.get("dependencies") is not None for u in unknowns)
    outputs = [k for k, v in enumerate(variables, 1) if v.get("causality") == "output"]
    assert [int(u.get("index", "")) for u in root.iterfind("ModelStructure/Outputs/Unknown")] == outputs
    assert not [v.get("name") for v in variables if v.find("Real") is None and v.get("variability") == "continuous"]
    assert all(float(r.get("nominal", "1")) > 0 for r in root.iter("Real"))


def test_the_xml_says_which_inputs_an_output_answers_to(pendulum: Path) -> None:
    root = xml_of(pendulum)
    names = [v.get("name") for v in root.iterfind("ModelVariables/ScalarVariable")]
    found = {
        names[int(u.get("index", "")) - 1]: [names[int(k) - 1] for k in u.get("dependencies", "").split()]
        for u in root.iterfind("ModelStructure/Outputs/Unknown")
    }
    assert found == {"angle": [], "speed": [], "pull": ["torque"]}


def test_initial_dependencies_tell_positions_from_reactions(pendulum: Path) -> None:
    root = xml_of(pendulum)
    names = [v.get("name") for v in root.iterfind("ModelVariables/ScalarVariable")]
    known = {
        names[int(u.get("index", "")) - 1]: {names[int(k) - 1] for k in u.get("dependencies", "").split()}
        for u in root.iterfind("ModelStructure/InitialUnknowns/Unknown")
    }
    assert known["bar.x.start"] == {"length", "phi0"}
    assert "torque" not in known["angle"]
    assert "torque" in known["pull"]


@pytest.mark.parametrize("name", ["pendulum", "slider_crank3d", "quarter_car"])
def test_units_convert_as_declared(name: str, tmp_path: Path) -> None:
    root = xml_of(shipped(name).export_fmu(tmp_path / "x.fmu", runtime="python"))
    defined = {u.get("name"): u for u in root.iterfind("UnitDefinitions/Unit")}
    for text, element in defined.items():
        base, this = element.find("BaseUnit"), unit(text or "")
        assert base is not None
        assert tuple(int(base.get(symbol, "0")) for symbol in BASE) == this.exponents
        assert float(base.get("factor", "1")) == this.factor
        for shown in element.iterfind("DisplayUnit"):
            other = unit(shown.get("name", ""))
            assert other.exponents == this.exponents
            assert float(shown.get("factor", "")) * other.factor == pytest.approx(this.factor, rel=1e-15)
    used = {r.get("unit") for r in root.iter("Real") if r.get("unit")}
    assert used == set(defined)


def test_quantities_have_types_with_the_units_that_people_read(pendulum: Path) -> None:
    root = xml_of(pendulum)
    types = {t.get("name"): t[0] for t in root.iterfind("TypeDefinitions/SimpleType")}
    assert dict(types["Angle"].attrib) == {"quantity": "Angle", "unit": "rad", "displayUnit": "deg"}
    displayed = {
        (u.get("name"), d.get("name")) for u in root.iterfind("UnitDefinitions/Unit") for d in u.iterfind("DisplayUnit")
    }
    for kind in types.values():
        assert kind.get("displayUnit") is None or (kind.get("unit"), kind.get("displayUnit")) in displayed
    for real in root.iterfind("ModelVariables/ScalarVariable/Real"):
        if real.get("unit") in QUANTITIES:
            assert types[real.get("declaredType")].get("unit") == real.get("unit")


def test_units_of_quantities_are_units() -> None:
    for text, quantity in QUANTITIES.items():
        assert unit(text).is_si
        assert not quantity.shown_in or unit(quantity.shown_in).exponents == unit(text).exponents


def test_choices_are_enumerations_from_one(pendulum: Path) -> None:
    root = xml_of(pendulum)
    items = {
        t.get("name"): [(i.get("name"), i.get("value")) for i in t.iter("Item")]
        for t in root.iterfind("TypeDefinitions/SimpleType")
    }
    assert items["Scheme"] == [(scheme.type_name, str(scheme.number)) for scheme in Scheme.numbered()]
    assert [name for name, _ in items["LogLevel"]] == ["errors", "warnings", "events", "steps"]
    by_name = {v.get("name"): v[0] for v in root.iterfind("ModelVariables/ScalarVariable")}
    assert dict(by_name["solver.scheme"].attrib) == {
        "declaredType": "Scheme", "min": "1", "max": str(len(Scheme.names())),
        "start": "9",
    }  # fmt: skip
    assert by_name["solver.options.form"].get("declaredType") == "OptionForm"
    assert by_name["solver.options.max_iterations"].tag == "Integer"


SCHEMES_FOR_EVER = {
    "baumgarte": 1, "direct": 2, "dop853": 3, "dopri5": 4, "gcp": 5, "gcp-fv": 6, "gcp-implicit": 7,
    "generalised-alpha": 8, "hht": 9, "hybrid": 10, "newmark": 11, "radau": 12, "trapezoidal": 13, "welch1": 14,
    "welch2": 15,
}  # fmt: skip
# By option the choices that are numbered, from 1 on; others may follow them.
CHOICES_FOR_EVER = {
    "formula": ["euler", "rk2", "midpoint", "rk4", "rkf45", "dopri5", "dop853", "adams",
                *(f"{family}{k}" for family in ("ab", "abm", "mampc") for k in range(1, 6))],
    "form": ["corrected", "printed"], "states": ["corrected", "paper"], "weights": ["model", "paper"],
    "gains": ["fixed", "adaptive"],
}  # fmt: skip


def test_numbers_of_schemes_and_choices_are_for_ever() -> None:
    """Stored parameter sets hold numbers: none of these may ever change, whatever is added."""
    numbers = {scheme.type_name: scheme.number for scheme in Scheme.numbered()}
    assert numbers | SCHEMES_FOR_EVER == numbers
    for scheme in Scheme.numbered():
        chosen = {f.name: f.metadata["choices"] for f in fields(scheme) if f.metadata["choices"]}
        for name in chosen.keys() & CHOICES_FOR_EVER.keys():
            assert list(chosen[name])[: len(CHOICES_FOR_EVER[name])] == CHOICES_FOR_EVER[name]


def test_a_scheme_of_another_number_renumbers_nothing() -> None:
    """A scheme that comes first by alphabet takes the next number; one that takes a number twice is refused."""
    before = [scheme.type_name for scheme in Scheme.numbered()]
    try:

        @dataclass(frozen=True, kw_only=True)
        class Abacus(Scheme, name="abacus"):
            """By hand."""

            number = len(before) + 1
            order = 1

        assert [scheme.type_name for scheme in Scheme.numbered()] == [*before, "abacus"]
        Abacus.number = 9
        with pytest.raises(TypeError, match=r"each once; found .*abacus 9"):
            Scheme.numbered()
    finally:
        Scheme._table.pop("abacus", None)


def test_types_are_called_otherwise_than_variables(tmp_path: Path) -> None:
    model = mbd.Model("m")
    model.add("Length", mbd.Parameter(value=1.0, unit="m"))
    model.add("x", mbd.State(rate="-x/Length"))
    path = model.export_fmu(tmp_path / "x.fmu", runtime="python")
    assert validate_fmu(str(path)) == []
    assert "LengthType" in {t.get("name") for t in xml_of(path).iterfind("TypeDefinitions/SimpleType")}


def test_states_say_how_large_they_are(tmp_path: Path) -> None:
    model = mbd.Model("m")
    model.add("x", mbd.State(rate="-x", nominal=1e5))
    root = xml_of(model.export_fmu(tmp_path / "x.fmu", runtime="python"))
    nominal = {v.get("name"): v[0].get("nominal") for v in root.iterfind("ModelVariables/ScalarVariable")}
    assert nominal["x"] == "100000.0"


def test_tunable_parameters_are_tunable(tmp_path: Path) -> None:
    model = mbd.Model("m")
    model.add("k", mbd.Parameter(value=2.0, tunable=True, min=0.0, max=7.5, text="gain"))
    model.add("twice", mbd.Parameter(value="2*k"))
    model.add("x", mbd.State(rate="-k*x"))
    root = xml_of(model.export_fmu(tmp_path / "x.fmu", runtime="python"))
    found = {v.get("name"): v for v in root.iterfind("ModelVariables/ScalarVariable")}
    assert found["k"].get("variability") == found["twice"].get("variability") == "tunable"
    assert found["twice"].get("causality") == "calculatedParameter"
    assert dict(found["k"][0].attrib) == {"min": "0.0", "max": "7.5", "start": "2.0"}
    assert found["k"].get("description") == "gain"


def test_settings_become_solver_parameters(tmp_path: Path) -> None:
    path = mbd.models.load("pendulum").export_fmu(
        tmp_path / "x.fmu", runtime="python", scheme="radau", options={"stop_ratio": 1 / 3}, step=1e-3, tolerance=1e-4
    )
    facts = mbd.fmu.info(path)
    starts = {v.name: v.start for v in facts.variables if v.name.startswith("solver.")}
    assert starts["solver.options.stop_ratio"] == 1 / 3  # to the last bit
    assert starts["solver.step"] == 1e-3
    assert starts["solver.tolerance"] == facts.tolerance == 1e-4
    assert starts["solver.scheme"] == 12


def test_default_experiment_is_that_of_the_model(pendulum: Path) -> None:
    facts = mbd.fmu.info(pendulum)
    assert (facts.stop_time, facts.step, facts.tolerance) == (10.0, 0.01, 1e-6)


def test_flags_are_those_of_the_runtime(pendulum: Path) -> None:
    found = xml_of(pendulum).find("CoSimulation")
    assert found is not None
    runtime = mbd.fmu.info(pendulum).runtime
    expected = {name: str(value).lower() for name, value in CO_SIMULATION_2[runtime].items()}
    assert dict(found.attrib) == {"modelIdentifier": "pendulum", **expected}


def test_log_categories_are_told(pendulum: Path) -> None:
    found = {c.get("name"): c.get("description") for c in xml_of(pendulum).iterfind("LogCategories/Category")}
    assert found == LOG_CATEGORIES


# ---------------------------------------------------------------- hostile models


def test_velocities_of_own_coordinates_have_legal_names(tmp_path: Path) -> None:
    facts = mbd.fmu.info(user_coordinates().export_fmu(tmp_path / "x.fmu"))
    assert {"theta", "der(theta)", "der(theta,2)", "theta.start", "theta.der.start"} <= {
        v.name for v in facts.variables
    }


TEXTS = ['<a href="x">&amp;</a>', "ünïcode ⚙ 漢字", "two\nlines\tand a tab", "]]> <!-- -->", "%s %n"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_texts_may_hold_anything_that_xml_can(text: str, runtime: str, tmp_path: Path) -> None:
    model = mbd.Model("m", text=text)
    model.add("k", mbd.Parameter(value=1.0, text=text))
    model.add("x", mbd.State(rate="-k*x", start=1.0))
    path = model.export_fmu(tmp_path / "ä 漢 #+%.fmu", runtime=runtime)
    assert validate_fmu(str(path)) == []
    root = xml_of(path)
    assert root.get("description") == text
    assert next(v for v in root.iter("ScalarVariable") if v.get("name") == "k").get("description") == text
    page = members(path)["documentation/index.html"].decode()
    assert "<a href" not in page
    assert text.split("\n")[0].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split('"')[0] in page


def test_texts_that_no_xml_can_hold_are_refused_before() -> None:
    with pytest.raises(mbd.ModelError, match=r"text: has a character that cannot be stored: '\\x07'"):
        mbd.Parameter(value=1.0, text="bell \x07")


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["x" * 300, "con", "Lpt1", "_", "double"])
@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_models_of_any_name_become_files(name: str, runtime: str, interface: str, tmp_path: Path) -> None:
    model = mbd.Model(name)
    model.add("y" * 500, mbd.State(rate="-1.0"))
    path = model.export_fmu(tmp_path / "x.fmu", runtime, interface=interface)
    assert validate_fmu(str(path)) == []
    root = xml_of(path)
    identifier = next(e.get("modelIdentifier", "") for e in root if e.get("modelIdentifier"))
    assert re.fullmatch(r"[A-Za-z_]\w{0,80}", identifier, re.ASCII)
    assert identifier.lower() not in ("con", "lpt1")
    binaries = [Path(file) for file in members(path) if file.startswith("binaries/")]
    assert binaries
    assert {file.stem for file in binaries} == {identifier}


@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_a_model_without_inputs_and_outputs(runtime: str, interface: str, tmp_path: Path) -> None:
    model = mbd.Model("lonely")
    model.add("x", mbd.State(rate="-x", start=1.0))
    path = model.export_fmu(tmp_path / "x.fmu", runtime, interface=interface)
    assert validate_fmu(str(path)) == []
    assert xml_of(path).find("ModelStructure/Outputs") is None
    result = mbd.fmu.simulate(path, 1.0, 0.1, record="x")
    assert result["x"][-1] == pytest.approx(np.exp(-1.0), abs=1e-4)  # tolerance 1e-6 of each step


@pytest.mark.nightly
@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_a_thousand_outputs(runtime: str, interface: str, tmp_path: Path) -> None:
    model = mbd.Model("wide")
    model.add("u", mbd.Input())
    model.add("x", mbd.State(rate="u-x", start=1.0))
    for k in range(1000):
        model.add(f"y{k}", f"{k}*x" if k % 2 else f"{k}*u")
    path = model.export_fmu(tmp_path / "x.fmu", runtime, interface=interface)
    assert validate_fmu(str(path)) == []
    root = xml_of(path)
    unknowns = root.findall("ModelStructure/Outputs/Unknown") + root.findall("ModelStructure/Output")
    assert len(unknowns) == 1000
    if interface == "cs2":
        assert {u.get("dependencies") for u in unknowns} == {"", "2"}
    assert mbd.fmu.simulate(path, 0.1, 0.1, record="y999")["y999"][-1] == pytest.approx(999 * np.exp(-0.1), rel=1e-4)


# ---------------------------------------------------------------- the archive


def test_what_is_in_the_archive(pendulum: Path) -> None:
    files = members(pendulum)
    runtime = mbd.fmu.info(pendulum).runtime
    assert next(iter(files)) == "modelDescription.xml"
    common = {
        "modelDescription.xml", "model.png", "documentation/index.html", "documentation/licenses/license.txt",
        "resources/model.mbd", "resources/interface.mbd",
    }  # fmt: skip
    assert common <= set(files)
    others = [file for file in set(files) - common if not file.startswith("binaries/")]
    if runtime == "native":
        assert not others
    assert all(file.startswith("resources/") for file in others)
    assert not [file for file in files if "\\" in file or file.startswith("/") or ".." in file]
    assert b"BSD 3-Clause" in files["documentation/licenses/license.txt"]


def test_the_icon_is_a_picture_of_the_model(pendulum: Path) -> None:
    png = members(pendulum)["model.png"]
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    import matplotlib.image

    (Path(pendulum).parent / "icon.png").write_bytes(png)
    pixels = matplotlib.image.imread(Path(pendulum).parent / "icon.png")
    assert pixels.shape == (256, 256, 4)
    covered = float((pixels[..., 3] > 0.5).mean())
    assert 0.01 < covered < 0.9  # a bar: neither nothing nor a full square


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_picture(name: str) -> None:
    drawing, again = (model._drawing(model.start()) for model in (shipped(name), shipped(name)))
    assert drawing is not None
    etree.fromstring(drawing.svg)
    assert again is not None
    assert again.png == drawing.png


def test_the_page_tells_people_what_there_is(pendulum: Path) -> None:
    text = members(pendulum)["documentation/index.html"].decode()
    root = etree.HTML(text)
    titles = [h.text for h in root.iter("h2")]
    assert titles == [
        "Inputs", "Outputs", "Parameters", "Solver", "How it behaves", "Log categories", "Other variables"]  # fmt: skip
    shown = {code.text for code in root.iter("code")}
    assert {v.name for v in mbd.fmu.info(pendulum).variables} - {"time"} <= shown
    assert root.find(".//svg") is not None
    assert "fmi2Discard" in text


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("runtime", "interface"), KINDS)
def test_same_model_gives_same_bytes(runtime: str, interface: str, tmp_path: Path) -> None:
    for name in ("a.fmu", "b.fmu"):
        model = mbd.models.load("slider_crank3d")
        model.export_fmu(tmp_path / name, runtime, interface=interface, reference={"t_end": 0.05})
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "b.fmu").read_bytes()


@pytest.mark.by_day(1)
def test_the_guid_is_that_of_the_content(pendulum: Path, tmp_path: Path) -> None:
    facts = mbd.fmu.info(pendulum)
    model = mbd.models.load("pendulum")
    other = model.export_fmu(tmp_path / "x.fmu", runtime=facts.runtime, tolerance=1e-5)
    drawn = model.export_fmu(tmp_path / "y.fmu", runtime=facts.runtime, reference={"t_end": 0.1})
    assert len(facts.guid) == 64
    assert mbd.fmu.info(other).guid != facts.guid
    assert mbd.fmu.info(drawn).guid == facts.guid  # the same component with more papers
    assert sections(members(pendulum)["resources/interface.mbd"])["guid"] == facts.guid


def test_signals_choose_what_is_in(tmp_path: Path) -> None:
    path = mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", signals="bar.*")
    names = {v.name for v in mbd.fmu.info(path).variables if v.causality == "local"}
    assert "bar.x" in names
    assert not [name for name in names if name.startswith("hinge")]
    assert validate_fmu(str(path)) == []


REFUSALS = [
    ({"runtime": "pyton"}, "did you mean 'python'"),
    ({"interface": "cs1"}, "unknown interface 'cs1'"),
    ({"platforms": "linux46"}, "did you mean 'linux64'"),
    ({"platforms": "linux64", "runtime": "python"}, "has those of pythonfmu"),
    ({"signals": "bra.*"}, "no signal fits"),
    ({"reference": {"tend": 1.0}}, "did you mean 't_end'"),
    ({"reference": {"inputs": {"tork": ([0.0], [1.0])}}}, "did you mean 'torque'"),
]


@pytest.mark.parametrize(("given", "message"), REFUSALS)
def test_export_refuses(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match=message):
        mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", **given)
    assert not list(tmp_path.iterdir())


def test_a_platform_that_is_not_installed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "available", dict)
    with pytest.raises(mbd.ModelError, match="need a library, and none is installed"):
        mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu")
    library = tmp_path / "mbdfmu_fmi.so"
    library.write_bytes(b"so")
    monkeypatch.setattr(binaries, "available", lambda: {"linux64": library})
    with pytest.raises(mbd.ModelError, match=r"platform 'win64' is installed \(there are: linux64\)"):
        mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", platforms=["linux64", "win64"])
    only = mbd.models.load("pendulum").export_fmu(tmp_path / "x.fmu", platforms="linux64")
    assert members(only)["binaries/linux64/pendulum.so"] == b"so"


def test_the_runtime_is_chosen_by_what_the_model_needs() -> None:
    assert archive.runtime_for(None, ()) == "native"


def test_the_command_knows_the_same_words() -> None:
    assert export_fmu.RUNTIMES == RUNTIMES
    assert set(export_fmu.INTERFACES) == set(archive.INTERFACES)


# ---------------------------------------------------------------- references


@pytest.fixture
def with_reference(tmp_path: Path) -> Path:
    times = [0.0, 0.25, 0.25, 1.0]
    run = {"t_end": 1.0, "step_output": 0.01, "inputs": {"torque": (times, [0.0, 1.0, -1.0, 2.0])}}
    return mbd.models.load("pendulum").export_fmu(tmp_path / "pendulum.fmu", runtime="python", reference=run)


def test_a_reference_has_the_layout_of_the_layered_standard(with_reference: Path) -> None:
    folder = "extra/org.fmi-standard.fmi-ls-ref/"
    files = {n.removeprefix(folder): c for n, c in members(with_reference).items() if n.startswith(folder)}
    manifest = etree.fromstring(files.pop("fmi-ls-manifest.xml"))
    spaced = "{http://fmi-standard.org/fmi-ls-manifest}"
    assert manifest.get(f"{spaced}fmi-ls-name") == "org.fmi-standard.fmi-ls-ref"
    assert {r.get("source") for r in manifest.iter("Related")} == set(files)
    roles = {r.get("source"): r.get("role") for r in manifest.iter("Related")}
    assert roles["pendulum_ref.csv"] == "result"
    experiment = etree.fromstring(files["fmi-ls-experiments.xml"]).find("Experiment")
    assert experiment is not None
    assert {e.tag: e.get("source") for e in experiment} == {
        "Stimuli": "pendulum_in.csv", "References": "pendulum_ref.csv"}  # fmt: skip
    assert float(experiment.get("stopTime", "")) == 1.0


def test_a_reference_is_the_run_of_the_model(with_reference: Path) -> None:
    folder = "extra/org.fmi-standard.fmi-ls-ref/"
    files = members(with_reference)
    header, *rows = files[f"{folder}pendulum_ref.csv"].decode().splitlines()
    assert header == '"time","angle","speed","pull"'
    numbers = np.array([[float(x) for x in row.split(",")] for row in rows])
    times = [0.0, 0.25, 0.25, 1.0]
    expected = mbd.models.load("pendulum").simulate(1.0, 0.01, inputs={"torque": (times, [0.0, 1.0, -1.0, 2.0])})
    assert np.array_equal(numbers[:, 0], expected.time)  # both rows of the jump
    assert np.array_equal(numbers[:, 1], expected["angle"])
    assert files[f"{folder}pendulum_in.csv"].decode().splitlines() == [
        '"time","torque"', "0.0,0.0", "0.25,1.0", "0.25,-1.0", "1.0,2.0"]  # fmt: skip
    options = dict(line.split(", ") for line in files[f"{folder}pendulum_ref.opt"].decode().splitlines())
    assert options == {"StartTime": "0.0", "StopTime": "1.0", "StepSize": "0.01", "RelTol": "1e-06",
                       "OutputIntervalLength": "0.01"}  # fmt: skip


def test_inputs_of_a_reference_may_be_a_function_or_none(tmp_path: Path) -> None:
    model = mbd.models.load("pendulum")
    run: dict[str, Any] = {"t_end": 0.03, "step_output": 0.01}
    ramp = model.export_fmu(tmp_path / "a.fmu", runtime="python", reference={**run, "inputs": lambda t: {"torque": t}})
    folder = "extra/org.fmi-standard.fmi-ls-ref/"
    rows = members(ramp)[f"{folder}pendulum_in.csv"].decode().splitlines()[1:]
    assert np.allclose([[float(x) for x in row.split(",")] for row in rows], [[t, t] for t in (0, 0.01, 0.02, 0.03)])
    held = {"inputs": {"torque": ([0.0, 0.02], [1.0, 2.0])}, "interpolation": "hold"}
    steps = model.export_fmu(tmp_path / "b.fmu", runtime="python", reference={**run, **held})
    assert members(steps)[f"{folder}pendulum_in.csv"].decode().splitlines()[1:] == [
        "0.0,1.0", "0.02,1.0", "0.02,2.0", "0.03,2.0"]  # fmt: skip
    none = model.export_fmu(tmp_path / "c.fmu", runtime="python", reference=run)
    assert f"{folder}pendulum_in.csv" not in members(none)


def test_without_outputs_positions_are_the_reference(tmp_path: Path) -> None:
    path = shipped("chain").export_fmu(tmp_path / "x.fmu", runtime="python", reference={"t_end": 0.02})
    header = members(path)["extra/org.fmi-standard.fmi-ls-ref/chain_ref.csv"].decode().splitlines()[0]
    assert header.startswith('"time","') and ".phi" in header
