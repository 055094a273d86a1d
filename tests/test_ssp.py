"""Systems as SSP: what we write is SSP, loses nothing and runs the same; what others write is understood or refused."""

from __future__ import annotations

import gc
import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from coupled_fmus import actuator, exact
from lxml import etree
from oscillator import build as build_oscillator

import mbdfmu as mbd
from mbdfmu.cosim import System
from mbdfmu.cosim.ssp import package
from mbdfmu.fmi import unpacking
from mbdfmu.fmi.reading import DESCRIPTION

MAIN = package.MAIN
NAMES = "http://ssp-standard.org/SSP1/SystemStructure"
HEAD = " ".join(
    f'xmlns:{prefix}="{NAMES}{name}"'
    for prefix, name in {
        "ssc": "Common", "ssd": "Description", "ssv": "ParameterValues", "ssm": "ParameterMapping",
    }.items()
)  # fmt: skip


# ---------------------------------------------------------------- FMUs and files


@pytest.fixture(scope="session")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a quarter car, a controller, and the controller without units as some tools write it."""
    folder = tmp_path_factory.mktemp("fmus")
    mbd.models.load("quarter_car").export_fmu(folder / "quarter_car.fmu")
    sky = mbd.Model("sky")
    sky.add("gain", mbd.Parameter(value=-3000.0, unit="N.s/m"))
    sky.add("v", mbd.Input(unit="m/s"))
    sky.add("f", mbd.State(rate="(gain*v - f)/0.02", unit="N"))
    sky.add("force", mbd.Output(value="f", unit="N"))
    sky.export_fmu(folder / "sky.fmu")
    said = re.compile(' (unit|declaredType)="[^"]*"')
    rewritten(folder / "sky.fmu", folder / "unitless.fmu", lambda text: said.sub("", text))
    return folder


def rewritten(fmu: Path, target: Path, change: Any) -> None:
    """The same FMU with another XML."""
    with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(target, "w") as sink:
        for name in source.namelist():
            content = source.read(name)
            sink.writestr(name, change(content.decode()) if name == DESCRIPTION else content)


def quarter(fmus: Path, **header: Any) -> System:
    system = System("quarter", **header)
    system.add("car", fmus / "quarter_car.fmu")
    system.add("sky", fmus / "sky.fmu")
    system.connect("car.actuator", "sky.force")
    system.connect("sky.v", "car.body_speed")
    return system


def all_of_it(fmus: Path) -> System:
    """A system that uses every entry of a system file."""
    (fmus / "road.csv").write_text("time [s],other.v [m/s]\n0,0\n1,0.2\n", encoding="utf-8")
    system = System(
        "everything", text="one line\nand <another> & \u00fc", inputs=fmus / "road.csv",
        record=["car.body.*", "sky.v"], experiment={"stop_time": 0.5, "step": 1e-3, "tolerance": 1e-7},
        master={"algorithm": "gauss-seidel", "extrapolation": 1, "iterations": 4, "iteration_tolerance": 1e-6,
                "tolerance": 1e-3, "smallest_step": 1e-7, "order": ["sky", "car"]},
    )  # fmt: skip
    system.add(
        "car", fmus / "quarter_car.fmu", text="the car", parameters={"sprung_mass": 400.0, "solver.scheme": "newmark"},
        start={"body.vy": 0.1}, inputs={"road": 0.01}, tolerance=1e-8,
    )  # fmt: skip
    system.add("sky", fmus / "sky.fmu", step=2e-3, parameters={"solver.options.max_iterations": 12}, start={"v": 0.5})
    system.add("other", fmus / "sky.fmu", start={"f": 3.0})
    system.connect("car.actuator", "sky.force", factor=1.0, offset=-2.5, delayed=True)
    system.connect("sky.v", "car.body_speed", offset=0.1)
    system.bond("seat", effort="car.actuator", flow="car.travel_rate")
    return system


def comparable(system: System) -> dict[str, Any]:
    """The data of a system file with files by their names only."""
    return system.description.moved(lambda file: Path(file.name)).to_data()


def package_of(folder: Path, body: str, files: dict[str, Path | str] | None = None, after: str = "") -> Path:
    """A package as another tool might write it."""
    path = folder / "foreign.ssp"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MAIN, description(body, after))
        for name, content in (files or {}).items():
            archive.writestr(name, content.read_bytes() if isinstance(content, Path) else content)
    return path


def description(body: str, after: str = "", name: str = "Foreign System") -> str:
    return (f'<?xml version="1.0"?>\n<ssd:SystemStructureDescription {HEAD} version="1.0" name="{name}">\n'
            f'<ssd:System name="root">{body}</ssd:System>{after}</ssd:SystemStructureDescription>')  # fmt: skip


def component(name: str, source: str, content: str = "", more: str = "") -> str:
    return f'<ssd:Component name="{name}" source="{source}" {more}>{content}</ssd:Component>'


def connection(start: str, end: str, content: str = "", more: str = "") -> str:
    """`a/y` is connector y of element a, `y` one of the system itself."""
    ends = ""
    for side, place in (("start", start), ("end", end)):
        element, _, connector = place.rpartition("/")
        ends += (f'{side}Element="{element}" ' if element else "") + f'{side}Connector="{connector}" '
    return f"<ssd:Connection {ends}{more}>{content}</ssd:Connection>"


def connectors(**kinds: str) -> str:
    """`v="input m/s"`."""
    inner = ""
    for name, text in kinds.items():
        kind, _, unit = text.partition(" ")
        real = f'<ssc:Real unit="{unit}"/>' if unit else "<ssc:Real/>"
        inner += f'<ssd:Connector name="{name}" kind="{kind}">{real}</ssd:Connector>'
    return f"<ssd:Connectors>{inner}</ssd:Connectors>"


def bindings(*inner: str) -> str:
    return f"<ssd:ParameterBindings>{''.join(inner)}</ssd:ParameterBindings>"


def values(*parameters: str, units: str = "", root: str = "") -> str:
    return (f'<ssv:ParameterSet {root}version="1.0" name="p"><ssv:Parameters>{"".join(parameters)}</ssv:Parameters>'
            f"{units}</ssv:ParameterSet>")  # fmt: skip


def real(name: str, value: float, unit: str = "") -> str:
    said = f' unit="{unit}"' if unit else ""
    return f'<ssv:Parameter name="{name}"><ssv:Real value="{value}"{said}/></ssv:Parameter>'


def inline(*parameters: str, mapping: str = "", more: str = "") -> str:
    return (f"<ssd:ParameterBinding {more}><ssd:ParameterValues>{values(*parameters)}</ssd:ParameterValues>{mapping}"
            "</ssd:ParameterBinding>")  # fmt: skip


def system(elements: Iterable[str], connections: Iterable[str] = (), before: str = "") -> str:
    joined = "".join(connections)
    return (f"{before}<ssd:Elements>{''.join(elements)}</ssd:Elements>"
            + (f"<ssd:Connections>{joined}</ssd:Connections>" if joined else ""))  # fmt: skip


SKY, CAR = "resources/sky.fmu", "resources/quarter_car.fmu"
LOOP = (connection("sky/force", "car/actuator"), connection("car/body_speed", "sky/v"))


def both(fmus: Path) -> dict[str, Path | str]:
    return {SKY: fmus / "sky.fmu", CAR: fmus / "quarter_car.fmu"}


def problems_of(path: Path) -> list[str]:
    with pytest.raises(mbd.ModelError) as caught:
        System.load(path)
    assert all(problem.startswith(str(path)) for problem in caught.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


# ---------------------------------------------------------------- what we write


@pytest.mark.by_day(1)
@pytest.mark.parametrize("suffix", [".ssp", ".ssd", ".SSP"])
def test_a_round_trip_loses_nothing(fmus: Path, tmp_path: Path, suffix: str) -> None:
    system = all_of_it(fmus)
    system.save(tmp_path / f"x{suffix}")
    again = System.load(tmp_path / f"x{suffix}")
    assert comparable(again) == comparable(system)
    assert again.notes == ()
    again.save(tmp_path / "x.json")
    assert comparable(System.load(tmp_path / "x.json", allow_outside=True)) == comparable(system)


def test_the_plain_system_too(fmus: Path, tmp_path: Path) -> None:
    system = quarter(fmus)
    system.save(tmp_path / "x.ssp")
    again = System.load(tmp_path / "x.ssp")
    assert comparable(again) == comparable(system)
    assert again.notes == ()


def test_the_same_system_gives_the_same_bytes(fmus: Path, tmp_path: Path) -> None:
    all_of_it(fmus).save(tmp_path / "a.ssp")
    System.load(tmp_path / "a.ssp").save(tmp_path / "b.ssp")
    assert (tmp_path / "a.ssp").read_bytes() == (tmp_path / "b.ssp").read_bytes()


def test_each_fmu_is_packed_once_under_a_name_of_its_own(fmus: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    odd = tmp_path / "other" / "SKY.fmu"
    odd.write_bytes((fmus / "unitless.fmu").read_bytes())
    blank = tmp_path / "other" / "my sky (2).fmu"
    blank.write_bytes(odd.read_bytes())
    system = System("many")
    for name, file in {"a": fmus / "sky.fmu", "b": fmus / "sky.fmu", "c": odd, "d": blank}.items():
        system.add(name, file)
    system.save(tmp_path / "x.ssp")
    with zipfile.ZipFile(tmp_path / "x.ssp") as archive:
        assert archive.namelist() == [MAIN, "resources/SKY_2.fmu", "resources/my_sky_2_.fmu", "resources/sky.fmu"]
    loaded = System.load(tmp_path / "x.ssp")
    again = loaded.description.fmus
    assert again["c"].fmu.read_bytes() == odd.read_bytes()
    assert again["a"].fmu == again["b"].fmu


@pytest.mark.parametrize("make", [quarter, all_of_it])
def test_what_is_written_is_valid(fmus: Path, tmp_path: Path, make: Any) -> None:
    """By the schemas that fmpy brings along; the one of the description does not look into parameter sets."""
    import fmpy.ssp

    schemas = Path(fmpy.ssp.__file__).parent / "schema"
    make(fmus).save(tmp_path / "x.ssp")
    with zipfile.ZipFile(tmp_path / "x.ssp") as archive:
        root = etree.fromstring(archive.read(MAIN))
    etree.XMLSchema(file=str(schemas / "SystemStructureDescription.xsd")).assertValid(root)
    sets = etree.XMLSchema(file=str(schemas / "SystemStructureParameterValues.xsd"))
    for one in root.iter(f"{{{NAMES}ParameterValues}}ParameterSet"):
        sets.assertValid(etree.fromstring(etree.tostring(one)))


def test_omsimulator_finds_its_master(fmus: Path, tmp_path: Path) -> None:
    """It looks for the information on the simulation below the system."""
    quarter(fmus).save(tmp_path / "x.ssp")
    with zipfile.ZipFile(tmp_path / "x.ssp") as archive:
        root = etree.fromstring(archive.read(MAIN))
    (master,) = root.findall("{*}System/{*}Annotations/{*}Annotation[@type='org.openmodelica']/{*}Annotations/"
                             "{*}SimulationInformation/{*}FixedStepMaster")  # fmt: skip
    experiment = quarter(fmus).description.experiment
    wanted = experiment.step if experiment and experiment.step else 1e-3
    assert master.get("description") == "oms-ma" and float(master.get("stepSize")) == wanted


def test_fmpy_reads_it(fmus: Path, tmp_path: Path) -> None:
    from fmpy.ssp.ssd import read_ssd

    all_of_it(fmus).save(tmp_path / "x.ssp")
    read = read_ssd(str(tmp_path / "x.ssp"))
    assert [element.name for element in read.system.elements] == ["car", "sky", "other"]
    found = {(c.startElement, c.startConnector, c.endElement, c.endConnector) for c in read.system.connections}
    assert {("sky", "force", "car", "actuator"), ("car", "body_speed", "sky", "v")} <= found
    assert {unit.name for unit in read.units} >= {"N", "m/s", "kg"}
    given = read.system.elements[0].parameterBindings[0].parameterValues[0].parameters
    assert {p.name: p.value for p in given} == {
        "sprung_mass": "400.0", "solver.scheme": "newmark", "body.vy.start": "0.1", "road": "0.01",
    }  # fmt: skip


def test_fmpy_computes_the_same(fmus: Path, tmp_path: Path) -> None:
    """fmpy steps like our simplest master, and begins with zeros, which here is true."""
    from fmpy.ssp.simulation import simulate_ssp

    quarter(fmus).save(tmp_path / "x.ssp")
    ours = System.load(tmp_path / "x.ssp").simulate(1.0, 1e-3)
    theirs = simulate_ssp(str(tmp_path / "x.ssp"), stop_time=1.0, step_size=1e-3)
    speed = ours["car.body_speed"]
    assert np.abs(speed).max() > 0.05  # over the bump
    # Times are summed up there and multiplied here, which differs by rounding.
    assert theirs["car.body_speed"][:1000] == pytest.approx(speed[1:1001], rel=0, abs=1e-12)


@pytest.mark.nightly
def test_a_package_runs_as_its_json_bit_for_bit(fmus: Path, tmp_path: Path) -> None:
    system = quarter(fmus, master={"iterations": 20, "extrapolation": 1})
    system.bond("seat", effort="car.actuator", flow="car.travel_rate")
    for name in ("x.ssp", "x.json"):
        system.save(tmp_path / name)
    one, other = (System.load(tmp_path / name).simulate(1.0, 2e-3) for name in ("x.ssp", "x.json"))
    assert one.columns.keys() == other.columns.keys()
    for name in one.columns:
        assert np.array_equal(one[name], other[name]), name
    assert one.statistics == other.statistics


def test_the_whole_settings_run_from_a_package(fmus: Path, tmp_path: Path) -> None:
    system = all_of_it(fmus).with_master(tolerance=None)
    system.save(tmp_path / "x.ssp")
    one, other = System.load(tmp_path / "x.ssp").simulate(0.1), system.simulate(0.1)
    assert np.array_equal(one["car.travel"], other["car.travel"])
    assert one["other.v"][-1] == pytest.approx(0.02, rel=1e-9)  # from the table that travels along


def test_units_only_an_fmu_knows_are_left_to_it(fmus: Path, tmp_path: Path) -> None:
    rewritten(fmus / "sky.fmu", tmp_path / "odd.fmu", lambda text: text.replace("m/s", "furlong/fortnight"))
    system = System("odd")
    system.add("sky", tmp_path / "odd.fmu")
    system.save(tmp_path / "x.ssd")
    assert "furlong" not in (tmp_path / "x.ssd").read_text(encoding="utf-8")
    assert comparable(System.load(tmp_path / "x.ssd")) == comparable(system)


def test_all_that_cannot_be_saved_is_said_at_once(fmus: Path, tmp_path: Path) -> None:
    system = quarter(fmus)
    system.add("third", fmus / "sky.fmu", parameters={"gian": 1.0}, inputs={"force": 1.0})
    system.connect("third.w", "car.travl")
    with pytest.raises(mbd.ModelError) as caught:
        system.save(tmp_path / "x.ssp")
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "fmus.third.parameters", "fmus.third.inputs", "couplings.third.w", "couplings.third.w",
    ]  # fmt: skip
    assert "did you mean 'gain'" in caught.value.problems[0]
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_not_there_are_named(fmus: Path, tmp_path: Path) -> None:
    system = quarter(fmus, inputs=tmp_path / "none.csv")
    system.add("third", tmp_path / "none.fmu")
    with pytest.raises(mbd.ModelError, match=r"(?s)fmus.third: .*none.fmu.*inputs: .*none.csv"):
        system.save(tmp_path / "x.ssp")


# ---------------------------------------------------------------- what is unpacked


def test_unpacked_files_live_as_long_as_the_system(fmus: Path, tmp_path: Path) -> None:
    quarter(fmus).save(tmp_path / "x.ssp")
    system = System.load(tmp_path / "x.ssp")
    file = system.description.fmus["car"].fmu
    other = system.with_master(iterations=2)
    del system
    gc.collect()
    assert file.is_file()
    assert other.simulate(0.01, 1e-3).complete
    del other
    gc.collect()
    assert not file.exists()


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["y.json", "y.ssd"])
def test_what_names_unpacked_files_takes_them_along(fmus: Path, tmp_path: Path, name: str) -> None:
    quarter(fmus).save(tmp_path / "x.ssp")
    System.load(tmp_path / "x.ssp").save(tmp_path / name)
    gc.collect()
    again = System.load(tmp_path / name)
    assert again.description.fmus["car"].fmu == tmp_path / "y_resources" / "quarter_car.fmu"
    assert again.simulate(0.01, 1e-3).complete


def test_a_failure_leaves_nothing_behind(fmus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    path = package_of(tmp_path, system([component("a", SKY), component("b", "gone.fmu")]), both(fmus))
    assert len(problems_of(path)) == 1
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_only_what_is_named_is_unpacked(fmus: Path, tmp_path: Path) -> None:
    files = {**both(fmus), "resources/notes.txt": "x", "../evil.txt": "x"}
    loaded = System.load(package_of(tmp_path, system([component("sky", SKY)]), files))
    folder = loaded.description.fmus["sky"].fmu.parents[1]
    assert [file.name for file in folder.rglob("*") if file.is_file()] == ["sky.fmu"]


# ---------------------------------------------------------------- what others write


def test_nested_systems_are_flattened(fmus: Path, tmp_path: Path) -> None:
    inner = system(
        [component("sky", SKY)],
        [connection("speed", "sky/v"), connection("sky/force", "push")],
        connectors(speed="input m/s", push="output N"),
    )
    middle = system(
        [f'<ssd:System name="inner">{inner}</ssd:System>'],
        [connection("speed", "inner/speed"), connection("inner/push", "push")],
        connectors(speed="input", push="output"),
    )
    outer = system(
        [f'<ssd:System name="my control">{middle}</ssd:System>', component("car", CAR)],
        [connection("car/body_speed", "my control/speed"), connection("my control/push", "car/actuator"),
         connection("bump", "car/road"), connection("car/travel", "seen")],
        connectors(bump="input m", seen="output m"),
    )  # fmt: skip
    loaded = System.load(package_of(tmp_path, outer, both(fmus)))
    data = comparable(loaded)
    assert data["name"] == "Foreign_System"
    assert data["fmus"] == {"my_control_inner_sky": "sky.fmu", "car": "quarter_car.fmu"}
    assert data["couplings"] == {
        "my_control_inner_sky.v": "car.body_speed", "car.actuator": "my_control_inner_sky.force",
    }  # fmt: skip
    assert loaded.notes == (
        "renamed: 'my control.inner.sky' is my_control_inner_sky, 'Foreign System' is Foreign_System",
        "free inputs: car.road ('bump')",
    )
    result = loaded.simulate(0.1, 1e-3)
    assert result.notes[:2] == loaded.notes
    assert np.array_equal(result["car.travel"], quarter(fmus).simulate(0.1, 1e-3)["car.travel"])


def test_names_become_identifiers_that_are_there_once(fmus: Path, tmp_path: Path) -> None:
    elements = [component(name, SKY) for name in ("left wheel", "left-wheel", "left_wheel", "1st", "b.c")]
    loaded = System.load(package_of(tmp_path, system(elements), both(fmus)))
    assert list(loaded.description.fmus) == ["left_wheel", "left_wheel_2", "left_wheel_3", "_1st", "b_c"]
    assert "'left-wheel' is left_wheel_2" in loaded.notes[0]


UNITS = """<ssd:Units>
<ssc:Unit name="mm/s"><ssc:BaseUnit m="1" s="-1" factor="0.001"/></ssc:Unit>
<ssc:Unit name="knot"><ssc:BaseUnit m="1" s="-1" factor="0.5"/></ssc:Unit>
<ssc:Unit name="shifted"><ssc:BaseUnit m="1" s="-1" factor="2" offset="10"/></ssc:Unit>
<ssc:Unit name="gee"><ssc:BaseUnit m="1" s="-2" factor="10"/></ssc:Unit>
</ssd:Units>"""


def linear(factor: float | None = None, offset: float | None = None) -> str:
    given = {"factor": factor, "offset": offset}
    said = " ".join(f'{name}="{value}"' for name, value in given.items() if value is not None)
    return f"<ssc:LinearTransformation {said}/>"


@pytest.mark.parametrize(
    ("unit", "content", "more", "expected"),
    [
        ("", "", "", {}),
        ("m/s", "", "", {}),
        ("knot", "", "", {"factor": 2.0}),
        ("knot", linear(3.0, 1.0), "", {"factor": 6.0, "offset": 1.0}),
        ("knot", linear(3.0, 1.0), 'suppressUnitConversion="true"', {"factor": 3.0, "offset": 1.0}),
        ("knot", "", 'suppressUnitConversion="true"', {"factor": 1.0}),
        ("shifted", "", "", {"factor": 0.5, "offset": -5.0}),
        ("m/s", linear(offset=2.0), "", {"offset": 2.0}),
        ("m/s", linear(factor=2.0), "", {"factor": 2.0}),
        ("km/h", "", "", {"factor": pytest.approx(3.6)}),  # ours, where the file defines none
    ],
)
def test_units_and_transformations(
    fmus: Path, tmp_path: Path, unit: str, content: str, more: str, expected: dict[str, Any]
) -> None:
    """From m/s to an FMU without units, whose connector says it."""
    elements = [component("car", CAR), component("sky", SKY, connectors(v=f"input {unit}".strip()))]
    files: dict[str, Path | str] = {SKY: fmus / "unitless.fmu", CAR: fmus / "quarter_car.fmu"}
    body = system(elements, [connection("car/body_speed", "sky/v", content, more)])
    (coupling,) = System.load(package_of(tmp_path, body, files, UNITS)).description.couplings.values()
    found = {k: v for k, v in coupling.to_data().items() if k != "from"} if isinstance(coupling.to_data(), dict) else {}
    assert found == expected


def test_transformations_on_the_way_add_up(fmus: Path, tmp_path: Path) -> None:
    """m/s -> (x2 + 1) knot of a system -> (x10) mm/s, by hand: ((v/0.5)*2 + 1)*500*10."""
    inner = system([component("sky", SKY, connectors(v="input mm/s"))],
                   [connection("speed", "sky/v", linear(10.0))], connectors(speed="input knot"))  # fmt: skip
    body = system(
        [component("car", CAR), f'<ssd:System name="s">{inner}</ssd:System>'],
        [connection("car/body_speed", "s/speed", linear(2.0, 1.0))],
    )
    files: dict[str, Path | str] = {SKY: fmus / "unitless.fmu", CAR: fmus / "quarter_car.fmu"}
    coupling = System.load(package_of(tmp_path, body, files, UNITS)).description.couplings["s_sky.v"]
    assert (coupling.factor, coupling.offset) == (pytest.approx(20000.0), pytest.approx(5000.0))


def test_parameters_come_from_everywhere(fmus: Path, tmp_path: Path) -> None:
    """Inline, from a file, through a mapping, from the system above, which counts more; each with its unit."""
    mapping = (f'<ssm:ParameterMapping {HEAD} version="1.0"><ssm:MappingEntry source="stroke" target="travel0">'
               f'</ssm:MappingEntry><ssm:MappingEntry source="mass in t" target="unsprung_mass">{linear(2.0)}'
               "</ssm:MappingEntry></ssm:ParameterMapping>")  # fmt: skip
    car = component("car", CAR, bindings(
        inline(real("sprung_mass", 0.3, "t"), real("unsprung_mass", 1.0), real("nonsense", 1.0)),
        '<ssd:ParameterBinding source="resources/more.ssv"><ssd:ParameterMapping source="resources/more.ssm"/>'
        "</ssd:ParameterBinding>",
        inline('<ssv:Parameter name="solver.scheme"><ssv:Enumeration value="radau"/></ssv:Parameter>',
               '<ssv:Parameter name="solver.options.max_iterations"><ssv:Integer value="7"/></ssv:Parameter>'),
    ))  # fmt: skip
    inner = system([car, component("sky", SKY)], [connection("gains", "sky/gain")],
                   connectors(gains="parameter") + bindings(inline(real("car.stiffness", 5.0))))  # fmt: skip
    body = system(
        [f'<ssd:System name="s">{inner}</ssd:System>'],
        before=bindings(inline(real("s.car.stiffness", 7.0), real("s.gains", -5.0)),
                        inline(real("car.damping", 9.0), real("car.road", 0.5), more='prefix="s."')),
    )  # fmt: skip
    grams = '<ssv:Units><ssc:Unit name="lump"><ssc:BaseUnit kg="1" factor="20"/></ssc:Unit></ssv:Units>'
    files = {**both(fmus), "resources/more.ssm": mapping, "resources/more.ssv": values(
        real("mass in t", 3.0, "lump"), real("tyre_damping", 11.0), units=grams, root=f"{HEAD} ")}  # fmt: skip
    loaded = System.load(package_of(tmp_path, body, files))
    data = comparable(loaded)["fmus"]
    assert data["s_car"]["parameters"] == {
        "sprung_mass": 300.0, "unsprung_mass": 120.0, "tyre_damping": 11.0, "solver.scheme": "radau",
        "solver.options.max_iterations": 7, "stiffness": 7.0, "damping": 9.0,
    }  # fmt: skip
    assert data["s_car"]["inputs"] == {"road": 0.5}
    assert data["s_sky"]["parameters"] == {"gain": -5.0}
    assert any("no variable are left out: nonsense of 's.car'" in note for note in loaded.notes)
    assert loaded.simulate(0.01, 1e-3).complete


def test_values_of_system_connectors_reach_what_they_lead_to(fmus: Path, tmp_path: Path) -> None:
    before = connectors(v="input knot") + bindings(inline(real("v", 4.0)))
    body = system([component("a", SKY), component("b", SKY)],
                  [connection("v", "a/v"), connection("v", "b/v", linear(10.0))], before)  # fmt: skip
    loaded = System.load(package_of(tmp_path, body, both(fmus), UNITS))
    assert [fmu.inputs for fmu in loaded.description.fmus.values()] == [{"v": 2.0}, {"v": 20.0}]


def test_values_of_connected_inputs_are_start_values(fmus: Path, tmp_path: Path) -> None:
    """Other tools write a value for every input; the connection takes over with the first exchange."""
    body = system([component("car", CAR), component("sky", SKY, bindings(inline(real("v", 4.0))))],
                  [connection("car/body_speed", "sky/v")])  # fmt: skip
    loaded = System.load(package_of(tmp_path, body, both(fmus), UNITS))
    assert (loaded.description.fmus["sky"].start, loaded.description.fmus["sky"].inputs) == ({"v": 4.0}, {})
    assert loaded.simulate(0.01, 1e-3).complete


def test_connections_drawn_backwards_are_turned_round(fmus: Path, tmp_path: Path) -> None:
    inner = system([component("sky", SKY, connectors(v="input", force="output"))],
                   [connection("sky/v", "speed"), connection("push", "sky/force")],
                   connectors(speed="input", push="output"))  # fmt: skip
    body = system([f'<ssd:System name="s">{inner}</ssd:System>', component("car", CAR)],
                  [connection("car/body_speed", "s/speed"), connection("s/push", "car/actuator")])  # fmt: skip
    loaded = System.load(package_of(tmp_path, body, both(fmus)))
    assert comparable(loaded)["couplings"] == {"s_sky.v": "car.body_speed", "car.actuator": "s_sky.force"}
    assert "connections from an input to an output are turned round, to: s.sky.v, s.push" in loaded.notes


def test_mapping_entries_that_nobody_has_filled_in_are_left_out(fmus: Path, tmp_path: Path) -> None:
    mapping = ('<ssd:ParameterMapping><ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="" target="gain"/>'
               "</ssm:ParameterMapping></ssd:ParameterMapping>")  # fmt: skip
    body = system([component("sky", SKY, bindings(inline(real("gain", 2.0), mapping=mapping)))])
    loaded = System.load(package_of(tmp_path, body, both(fmus)))
    assert loaded.description.fmus["sky"].parameters == {"gain": 2.0}
    assert "mapping entries without a source are left out: gain" in loaded.notes


def test_values_pass_through_systems_in_a_row(fmus: Path, tmp_path: Path) -> None:
    inner = "".join(f'<ssd:System name="{name}">{connectors(i="input", o="output")}<ssd:Connections>'
                    f'{connection("i", "o", linear(2.0))}</ssd:Connections></ssd:System>' for name in "abc")
    row = [connection(*ends) for ends in (("v", "a/i"), ("a/o", "b/i"), ("b/o", "c/i"), ("c/o", "sky/v"))]
    given = connectors(v="input m/s") + bindings(inline(real("v", 1.0)))
    body = system([inner, component("sky", SKY)], row, given)
    assert System.load(package_of(tmp_path, body, both(fmus))).description.fmus["sky"].inputs == {"v": 8.0}


def test_a_bare_description_names_files_beside_it(fmus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my files"
    folder.mkdir()
    (folder / "a sky.fmu").write_bytes((fmus / "sky.fmu").read_bytes())
    elements = [component("a", quote("my files/a sky.fmu")), component("b", "my files/a sky.fmu"),
                component("c", (fmus / "sky.fmu").as_uri())]  # fmt: skip
    (tmp_path / "x.ssd").write_text(description(system(elements)), encoding="utf-8")
    found = [component.fmu for component in System.load(tmp_path / "x.ssd").description.fmus.values()]
    assert [file.resolve() for file in found] == [folder / "a sky.fmu"] * 2 + [fmus / "sky.fmu"]


def test_files_of_ssp_2_are_read_where_they_say_the_same(fmus: Path, tmp_path: Path) -> None:
    body = system([component("sky", SKY, bindings(inline(
        '<ssv:Parameter name="gain"><ssv:Float64 value="-7"/></ssv:Parameter>')))])  # fmt: skip
    path = tmp_path / "x.ssp"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MAIN, description(body).replace(f'{HEAD} version="1.0"', f'{HEAD} version="2.0"'))
        archive.write(fmus / "sky.fmu", SKY)
    assert System.load(path).description.fmus["sky"].parameters == {"gain": -7.0}


def test_foreign_annotations_are_passed_over(fmus: Path, tmp_path: Path) -> None:
    foreign = ('<ssd:Annotations><ssc:Annotation type="org.other"><o:x xmlns:o="urn:o">{"master": 3}</o:x>'
               "</ssc:Annotation></ssd:Annotations>")  # fmt: skip
    experiment = f'<ssd:DefaultExperiment startTime="1" stopTime="3">{foreign}</ssd:DefaultExperiment>'
    body = system([component("sky", SKY, foreign)])
    loaded = System.load(package_of(tmp_path, body, both(fmus), experiment + foreign))
    assert comparable(loaded)["experiment"] == {"stop_time": 3.0}
    assert "give it to simulate(t_start=..): 1 s" in loaded.notes[-1]


BOTH_KINDS = {"<ModelExchange": '<CoSimulation modelIdentifier="oscillator"/><ModelExchange'}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("wanted", "edits"), [("ModelExchange", BOTH_KINDS), ("ModelExchange", {}), ("any", {})])
def test_components_for_model_exchange_are_integrated(
    wanted: str, edits: dict[str, str], version: int, tmp_path: Path
) -> None:
    files = {"mass.fmu": build_oscillator(tmp_path, version, edits),
             "actuator.fmu": actuator().export_fmu(tmp_path / "actuator.fmu")}  # fmt: skip
    elements = [component("mass", "mass.fmu", more=f'implementation="{wanted}"'), component("actuator", "actuator.fmu")]
    body = system(elements, [connection("mass/speed", "actuator/speed"), connection("actuator/force", "mass/force")])
    loaded = System.load(package_of(tmp_path, body, files))
    result = loaded.with_master(extrapolation=1).simulate(0.4, 0.02)
    assert "mass: for model exchange" in " ".join(result.notes) and "actuator: " not in " ".join(result.notes)
    # second order: 0.06 in one second at this step
    assert result["mass.place"] == pytest.approx(exact(result.time)[:, 0], abs=0.01)
    loaded.save(tmp_path / "again.ssp")
    with zipfile.ZipFile(tmp_path / "again.ssp") as archive:
        assert archive.read(MAIN).count(b'implementation="ModelExchange"') == 1
    assert comparable(System.load(tmp_path / "again.ssp")) == comparable(loaded)


def test_what_is_for_both_steps_unless_model_exchange_is_wanted(tmp_path: Path) -> None:
    fmu = build_oscillator(tmp_path, edits=BOTH_KINDS)
    elements = [component(name, "x.fmu", more=f'implementation="{name}"')
                for name in ("any", "CoSimulation", "ModelExchange")]  # fmt: skip
    loaded = System.load(package_of(tmp_path, system(elements), {"x.fmu": fmu}))
    assert [part.kind for part in loaded.description.fmus.values()] == [None, None, "model exchange"]


# ---------------------------------------------------------------- what is refused


def test_a_component_of_a_kind_that_its_fmu_is_not_for_is_named(fmus: Path, tmp_path: Path) -> None:
    elements = [component("mass", "x.fmu", more='implementation="CoSimulation"'),
                component("sky", "sky.fmu", more='implementation="ModelExchange"'),
                component("wrong", "sky.fmu", more='implementation="modelExchange"')]  # fmt: skip
    files = {"x.fmu": build_oscillator(tmp_path), "sky.fmu": fmus / "sky.fmu"}
    found = problems_of(package_of(tmp_path, system(elements), files))
    assert [re.sub(".*: <Component> ", "", problem.split(";")[0]) for problem in found] == [
        "'mass' is wanted for co-simulation, its FMU is for model exchange",
        "'sky' is wanted for model exchange, its FMU is for co-simulation",
        "'wrong' is wanted as 'modelExchange'",
    ]


def test_all_findings_come_at_once_with_their_places(fmus: Path, tmp_path: Path) -> None:
    elements = [
        component("sky", SKY), component("car", CAR), component("sky", SKY),
        component("part", "resources/part.ssp", more='type="application/x-ssp-package"'),
        component("lost", "resources/sly.fmu"), component("web", "https://example.org/a.fmu"),
        component("me", SKY, more='implementation="ModelExchange"'),
        '<ssd:SignalDictionaryReference name="bus" dictionary="d"/>',
    ]  # fmt: skip
    connections = [
        connection("sky/forse", "car/actuator"), connection("sky/force", "cra/actuator"),
        connection("car/actuator", "sky/v"), connection("car/travel", "car/road"), connection("car/travel", "car/road"),
        connection("bus/x", "me/v"), connection("sky/force", "lost/x", linear(float("nan"))),
        connection("car/travel_rate", "sky/force"),
        connection("sky/force", "me/v"),
    ]  # fmt: skip
    found = problems_of(package_of(tmp_path, system(elements, connections), both(fmus)))
    expected = [
        "<Component> 'sky' is there already", "'part' is no FMU but of type",
        "'me' is wanted for model exchange, its FMU is for co-simulation",
        "'bus' is a signal dictionary", "'lost': 'resources/sly.fmu' is not in the archive; did you mean",
        "'web': 'https://example.org/a.fmu' is no file of the archive", "has no variable 'forse'",
        "element 'cra', which is not in system 'root'; did you mean 'car'",
        "begins at 'car.actuator', whose causality is input",
        "leads to 'car.road' like that on line", "factor must be a finite number, found 'nan'",
        "leads to 'sky.force', whose causality is output", "from N to m/s",
    ]  # fmt: skip
    for words in expected:
        assert any(words in problem for problem in found), (words, found)
    assert len(found) == len(expected), found
    assert all(re.match(r"SystemStructure.ssd: line \d+: <", problem) for problem in found)


def test_parameters_that_cannot_be_set_are_named(fmus: Path, tmp_path: Path) -> None:
    table = ('<ssd:ParameterMapping><ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="gain" target="gain">'
             '<ssc:BooleanMappingTransformation/></ssm:MappingEntry></ssm:ParameterMapping></ssd:ParameterMapping>')
    given = bindings(
        inline(real("gain", 1.0), mapping=table), inline(real("gain", 2.0, "N")), inline(real("force", 2.0)),
        inline('<ssv:Parameter name="gain"><ssv:String value="big"/></ssv:Parameter>',
               '<ssv:Parameter name="gain"><ssv:Real value="1 2"/></ssv:Parameter>',
               '<ssv:Parameter name="gain"><ssv:Binary value="00"/></ssv:Parameter>',
               '<ssv:Parameter name="gain"/>',
               '<ssv:Parameter name="solver.scheme"><ssv:Enumeration value="rado"/></ssv:Parameter>'),
        '<ssd:ParameterBinding source="https://example.org/p.ssv"/>',
        '<ssd:ParameterBinding source="a.ssv" sourceBase="component"/>', '<ssd:ParameterBinding type="text/csv"/>',
    )  # fmt: skip
    found = problems_of(package_of(tmp_path, system([component("sky", SKY, given)]), both(fmus)))
    expected = [
        "<BooleanMappingTransformation> is not known here", "'gain' is in N, wanted in N.s/m", "sets 'force' of 'sky'",
        "'gain' must be a number, found 'big'", "'gain' has several values", "'gain' is of type Binary",
        "'gain' has no value", "'solver.scheme' cannot be 'rado'; did you mean 'radau'",
        "'https://example.org/p.ssv' is no file of the archive", "from inside a component", "is of type 'text/csv'",
    ]  # fmt: skip
    for words in expected:
        assert any(words in problem for problem in found), (words, found)
    assert len(found) == len(expected), found


OUR_ANNOTATION = ('<ssd:Annotations><ssc:Annotation type="org.mbdfmu.cosim"><m:settings xmlns:m="urn:mbdfmu:cosim">{}'
                  "</m:settings></ssc:Annotation></ssd:Annotations>")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1, column 2: not JSON"),
        ("[1]", "must hold one object"),
        ('{"fmus": {}}', "unknown entry 'fmus'"),
        ('{"master": {"algorithm": "best"}}', "master.algorithm: must be"),
        ('{"format_version": 2}', "format_version: must be 1"),
        ('{"inputs": "/etc/hostname"}', "leads out of the archive"),
        ('{"inputs": 3}', "inputs: must be the name of a file"),
        ('{"experiment": 3}', "experiment: must be an object"),
        ('{"bonds": {"b": {"effort": "x.y", "flow": "sky.force"}}}', "no FMU is called 'x'"),
    ],
)
def test_annotations_of_ours_are_checked(fmus: Path, tmp_path: Path, text: str, words: str) -> None:
    path = package_of(tmp_path, system([component("sky", SKY)]), both(fmus), OUR_ANNOTATION.replace("{}", text))
    found = problems_of(path)
    assert any(words in problem for problem in found), found


@pytest.mark.parametrize(
    "source", ["../sky.fmu", "resources/../../sky.fmu", "/etc/passwd", "..%2F..%2Fsky.fmu", "..\\sky.fmu",
               "file:///etc/passwd", "resources/", ".", "//host/share/x.fmu", "C:/x.fmu", "[", "#inner"],
)  # fmt: skip
def test_nothing_outside_of_an_archive_is_touched(fmus: Path, tmp_path: Path, source: str) -> None:
    """Not even where the archive has an entry of that name."""
    files = {**both(fmus), "../sky.fmu": "x", "/etc/passwd": "x", "..\\sky.fmu": "x"}
    (problem,) = problems_of(package_of(tmp_path, system([component("sky", source)]), files))
    assert re.search("leads out of|is no file of|is not in|is no URI|is damaged", problem), problem
    assert not (tmp_path.parent / "sky.fmu").exists()


def test_archives_that_would_grow_beyond_all_measure_are_refused(
    fmus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.ssp"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MAIN, description(system([component("sky", SKY)])))
        archive.writestr(SKY, bytes(unpacking.SUSPECT + 1))
    assert "would grow from" in problems_of(path)[0]
    monkeypatch.setattr(package, "LARGEST", 1 << 20)
    assert "have more than 1 MiB" in problems_of(path)[0]
    monkeypatch.setattr(package, "LARGEST_XML", 100)
    assert "allowed are 100" in problems_of(path)[0]


XML_BOMB = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;">
<!ENTITY c SYSTEM "file:///etc/passwd">]><x>&b;&c;</x>"""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (XML_BOMB, "line 1: has a DOCTYPE"),
        (XML_BOMB.replace(b"DOCTYPE", b"doctype"), "has a DOCTYPE"),
        (XML_BOMB.decode().encode("utf-16"), "is UTF-16"),
        (XML_BOMB.decode().encode("utf-16-le"), "is UTF-16"),
        (XML_BOMB.decode().encode("utf-7"), "DOCTYPE|not XML"),
        (b"", "not XML"),
        (b"<a", "not XML"),
        (b"\x00\xff\x00", "not XML"),
        (b"<a/>", "must be a <SystemStructureDescription> of SSP, found 'a'"),
        (f'<ssd:SystemStructureDescription {HEAD} version="1.0" name="x"/>'.encode(), "has no <System>"),
        (f'<ssd:SystemStructureDescription {HEAD} version="Draft2017" name="x"/>'.encode(), "known are 1.0 and 2.0"),
        (description("").encode(), "fmus: there is none"),
        ((b"<a>" * 300) + (b"</a>" * 300), "not XML"),
    ],
)
@pytest.mark.parametrize("suffix", [".ssp", ".ssd"])
def test_descriptions_that_are_none(tmp_path: Path, content: bytes, words: str, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    if suffix == ".ssd":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(MAIN, content)
    (problem,) = problems_of(path)
    assert re.search(words, problem), problem


@pytest.mark.nightly
def test_no_edit_of_a_description_brings_more_than_findings(
    fmus: Path, tmp_path: Path, counts: Callable[..., int]
) -> None:
    path = tmp_path / "x.ssd"
    all_of_it(fmus).save(path)
    text = path.read_text(encoding="utf-8")
    places = [match.span(1) for match in re.finditer(r'="([^"]*)"', text)]
    odd = ["", "0", "-1", "nan", "1e999", "..", "car", "sky", "Input", "\u00e4\U0001f600", "true", "[", "a/b",
           "%00", "9" * 40]  # fmt: skip
    random = Random(1)
    outcomes = set()
    for _ in range(counts(5000)):
        edited = text
        for begin, end in sorted(random.sample(places, random.randint(1, 3)), reverse=True):
            edited = edited[:begin] + random.choice(odd) + edited[end:]
        if random.random() < 0.3:
            line = random.choice(edited.splitlines(keepends=True))
            edited = edited.replace(line, random.choice(["", line * 2]))
        path.write_text(edited, encoding="utf-8")
        try:
            System.load(path)
            outcomes.add("loaded")
        except mbd.ModelError as error:
            assert all(problem.startswith(str(path)) for problem in error.problems)
            outcomes.add("refused")
    assert outcomes == {"loaded", "refused"}


def test_deeply_nested_systems_are_refused(tmp_path: Path) -> None:
    body = '<ssd:Elements><ssd:System name="s">' * 80 + "</ssd:System></ssd:Elements>" * 80
    (tmp_path / "x.ssd").write_text(description(body), encoding="utf-8")
    assert "deeper than 50 levels" in problems_of(tmp_path / "x.ssd")[0]


def test_connections_in_a_circle_end(fmus: Path, tmp_path: Path) -> None:
    inner = "".join(f'<ssd:System name="{name}">{connectors(i="input", o="output")}<ssd:Connections>'
                    f'{connection("i", "o")}</ssd:Connections></ssd:System>' for name in "ab")  # fmt: skip
    body = system([inner, component("sky", SKY)],
                  [connection("a/o", "b/i"), connection("b/o", "a/i"), connection("b/o", "sky/v")],
                  bindings(inline(real("a.i", 1.0))))  # fmt: skip
    (problem,) = problems_of(package_of(tmp_path, body, both(fmus)))
    assert "leads to 'sky.v' from a circle of connections" in problem


def test_damaged_archives_are_named(fmus: Path, tmp_path: Path) -> None:
    quarter(fmus).save(tmp_path / "x.ssp")
    whole = (tmp_path / "x.ssp").read_bytes()
    found = set()
    for cut in [0, 10, len(whole) // 2, len(whole) - 10]:
        (tmp_path / "x.ssp").write_bytes(whole[:cut])
        found.add(problems_of(tmp_path / "x.ssp")[0].partition(" (")[0])
    assert found == {"cannot be read as a zip archive"}
    place = whole.index(b"resources/quarter_car.fmu") + 1000
    (tmp_path / "x.ssp").write_bytes(whole[:place] + b"\xff\x00\xff" + whole[place + 3 :])
    assert "'resources/quarter_car.fmu' is damaged" in problems_of(tmp_path / "x.ssp")[0]
    assert problems_of(tmp_path / "none.ssp") == ["there is no such file; check the path"]


def test_a_package_without_a_description_says_what_it_has(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.ssp", "w") as archive:
        archive.writestr("VariantB.ssd", "")
    assert "has no SystemStructure.ssd, which a package of SSP needs; it has: VariantB.ssd" in problems_of(
        tmp_path / "x.ssp"
    )
