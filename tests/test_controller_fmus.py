"""FMUs of controllers: what they say, that they do what the running controller does, and what they refuse."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import pytest
from controller_variants import VARIANTS, variant
from fmi_host import Host, python_host, unpacked
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2Discard
from fmpy.validation import validate_fmu
from fmu_instances import in_new_process, opened
from lxml import etree
from test_lifecycle import NOT_IN_PYTHON, judged

import mbdfmu as mbd
from mbdfmu.controllers.slave import DISCARD, ERROR, OK, Content, Slave

load = mbd.controllers.load
SCHEMA = Path(fmpy.__file__).parent / "schema" / "fmi2" / "fmi2ModelDescription.xsd"
SAMPLED = {"sample_time": 0.004, "delay": 0.006}


def exported(folder: Path, key: str = "skyhook", **more: Any) -> Path:
    controller = variant(key, **more) if key in VARIANTS else load(key, **more)
    return controller.export_fmu(folder / f"{key.split(' ')[0].replace(':', '_')}.fmu")


def xml_of(path: Path) -> etree._Element:
    with zipfile.ZipFile(path) as file:
        return etree.fromstring(file.read("modelDescription.xml"))


def variable(root: etree._Element, name: str) -> etree._Element:
    found = root.find(f"ModelVariables/ScalarVariable[@name='{name}']")
    assert found is not None
    return found


# ---------------------------------------------------------------- what it says


@pytest.mark.parametrize("key", VARIANTS)
def test_an_fmu_is_valid(key: str, tmp_path: Path) -> None:
    path = exported(tmp_path, key)
    assert validate_fmu(str(path)) == []
    schema = etree.XMLSchema(etree.parse(str(SCHEMA)))
    schema.assertValid(xml_of(path))


def test_the_same_controller_gives_the_same_bytes(tmp_path: Path) -> None:
    first = exported(tmp_path).read_bytes()
    assert exported(tmp_path).read_bytes() == first
    assert exported(tmp_path, gain=1.0).read_bytes() != first


def test_masters_hold_what_a_sampled_controller_is_given(tmp_path: Path) -> None:
    """Extrapolated, the sample would count with the mean over the step instead of what the plant has given."""
    system = mbd.cosim.System("held", master={"extrapolation": 1})
    clock = load("state_space", A=[[0.0]], B=[[1.0]]).export_fmu(tmp_path / "clock.fmu")
    system.add("clock", clock, inputs={"u1": 1.0})
    system.add("gain", load("pid", kp=1.0, filter_time=1.0, sample_time=0.1).export_fmu(tmp_path / "gain.fmu"))
    system.connect("gain.setpoint", "clock.y1")
    result = system.simulate(1.0, 0.05, record=["clock.y1", "gain.y"])
    assert result["gain.y"][1::2] == pytest.approx(result["clock.y1"][:-1:2], abs=1e-12)


@pytest.mark.parametrize("key", VARIANTS)
def test_the_xml_says_what_the_controller_is(key: str, tmp_path: Path) -> None:
    controller = variant(key)
    root = xml_of(exported(tmp_path, key))
    for name, p in controller.parameters.items():
        element = variable(root, name)
        assert element.get("variability") == ("tunable" if p.tunable else "fixed")
        assert float(element[0].get("start", "")) == p.value and (element[0].get("unit") or "") == p.unit
    for name in (*controller.inputs, *controller.outputs):
        assert variable(root, name).get("variability") == ("discrete" if controller.sampled else "continuous")
    for name, memory in controller.memory.items():
        assert variable(root, name)[0].tag == ("Enumeration" if memory.phases else "Real")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["body_speed", "travel_rate"]),
        ({"sample_time": 0.01}, ["body_speed", "travel_rate"]),
        ({"lag": 0.02}, []),  # a state stands between
        ({"sample_time": 0.01, "delay": 0.001}, []),
    ],
)
def test_outputs_depend_on_what_the_law_says(given: dict[str, float], names: list[str], tmp_path: Path) -> None:
    root = xml_of(exported(tmp_path, **given))
    found = root.find("ModelStructure/Outputs/Unknown")
    assert found is not None
    variables = root.findall("ModelVariables/ScalarVariable")
    assert [variables[int(k) - 1].get("name") for k in found.get("dependencies", "?").split()] == names


def test_a_delay_that_is_there_stays_above_zero(tmp_path: Path) -> None:
    root = xml_of(exported(tmp_path, **SAMPLED))
    assert float(variable(root, "delay")[0].get("min", "")) > 0
    assert float(variable(root, "sample_time")[0].get("min", "")) > 0


# ---------------------------------------------------------------- what it does


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize("more", [{}, SAMPLED])
def test_an_fmu_does_bit_for_bit_what_the_controller_does(key: str, more: dict[str, float], tmp_path: Path) -> None:
    controller, rng = variant(key, **more), random.Random(5)
    running = controller.start()
    watched = [*controller.outputs, *controller.states, *controller.memory]
    with opened(controller.export_fmu(tmp_path / "c.fmu")) as fmu:
        fmu.begin()
        for _ in range(60):
            for name in controller.inputs:
                running[name] = value = rng.uniform(-0.5, 2.0)
                fmu.put(name, value)
            assert fmu.look(*watched) == [running[name] for name in watched]
            size = rng.choice([0.001, 0.004, 0.0073])
            fmu.doStep(running.time, size)
            running.step(size)
            assert fmu.look("time") == [running.time]


@pytest.mark.parametrize("more", [{}, SAMPLED])
def test_states_are_bytes_that_another_instance_continues_from(more: dict[str, float], tmp_path: Path) -> None:
    path = exported(tmp_path, "pid with limits", **more)

    def run(fmu: Any, begin: int) -> list[Any]:
        found = []
        for k in range(begin, begin + 20):
            fmu.put("setpoint", 0.1 * k)
            fmu.doStep(k * 0.01, 0.01)
            found += fmu.look("y", "integral", "filtered")
        return found

    with opened(path) as one, opened(path) as other:
        one.begin(kp=1.5)
        run(one, 0)
        state = one.getFMUState()
        content = one.serializeFMUState(state)
        first = run(one, 20)
        one.setFMUState(state)  # roll back
        assert run(one, 20) == first
        other.begin()
        other.setFMUState(other.deSerializeFMUstate(content))
        assert other.look("kp") == [1.5]
        assert run(other, 20) == first


def test_two_controllers_and_two_versions_of_one_live_in_one_process(tmp_path: Path) -> None:
    old, new = "wanted = self.replaced", "wanted = 7.0 + self.replaced"
    paths = [exported(tmp_path), tmp_path / "later.fmu", exported(tmp_path, "pid")]
    _rewritten(paths[0], paths[1], lambda text: text.replace(old, new))
    with opened(paths[0]) as a, opened(paths[1]) as b, opened(paths[2]) as c, opened(paths[0]) as d:
        for fmu in (a, b, d):
            fmu.begin(body_speed=1.0)
        c.begin(setpoint=1.0)
        assert [fmu.look("force") for fmu in (a, b, d)] == [[-3000.0], [-2993.0], [-3000.0]]
        assert c.look("y") == [1.0]
    assert load("skyhook").start()["force"] == 0  # and the family has what it had


def _rewritten(path: Path, to: Path, change: Callable[[str], str]) -> None:
    """As another version would have written it: the script's name and the source differ."""
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(to, "w") as other:
        old = file.read("resources/slavemodule.txt").decode()
        for name in file.namelist():
            content = file.read(name)
            if "/controller_" in name:
                content = change(content.decode()).encode()
            renamed = name.replace(old, f"{old}b")
            other.writestr(renamed, f"{old}b" if name.endswith("slavemodule.txt") else content)


def test_the_native_runtime_does_the_same(tmp_path: Path) -> None:
    controller = variant("skyhook with lag and limit")
    path = controller.export_fmu(tmp_path / "native.fmu", runtime="native")
    assert validate_fmu(str(path)) == []
    running = controller.start()
    with opened(path) as fmu:
        fmu.setupExperiment(tolerance=1e-9)
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        for k in range(20):
            speed = 0.1 * k
            fmu.put("body_speed", speed)
            running["body_speed"] = speed
            fmu.doStep(k * 0.01, 0.01)
            running.step(0.01)
            assert fmu.look("force")[0] == pytest.approx(running["force"], rel=1e-6, abs=1e-3)  # N, of hundreds


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize("more", [{"sample_time": 0.004}, SAMPLED, {"sample_time": 0.003, "delay": 0.012}], ids=str)
def test_native_samples_are_those_of_the_running_controller(key: str, more: dict[str, float], tmp_path: Path) -> None:
    """Inputs that are set at a sample count for it, as often as they are set; points and samples need not fit."""
    controller, rng = variant(key, **more), random.Random(5)
    watched, moved = [*controller.outputs, *controller.states, *controller.memory], set()
    path = controller.export_fmu(tmp_path / "native.fmu", runtime="native")
    running = controller.start(at=100.0)
    with opened(path) as fmu:
        fmu.setupExperiment(startTime=100.0)
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        for _ in range(120):
            for name in controller.inputs:
                running[name] = value = rng.uniform(-0.5, 2.0)
                fmu.put(name, value)
            found = fmu.look(*watched)
            # The same operations in the same order: equal to the bit where no compiler joins them.
            assert found == pytest.approx([running[name] for name in watched], rel=1e-12, abs=1e-12)
            moved.add(tuple(found))
            size = rng.choice([0.001, 0.002, 0.004, 0.0073, 0.04])
            fmu.doStep(running.time, size)
            running.step(size)
    assert len(moved) > 40 and validate_fmu(str(path)) == []


def test_a_native_controller_goes_back_to_a_sample_that_does_not_count_yet(tmp_path: Path) -> None:
    path = load("abs_threshold").export_fmu(tmp_path / "native.fmu", runtime="native")
    with opened(path) as fmu:
        fmu.begin(speed=20.0, demand=1000.0)
        fmu.put("slip", -0.3)
        state, found = fmu.getFMUState(), []
        for slip in (-0.3, -0.05, -0.3):
            fmu.setFMUState(state)
            fmu.put("slip", slip)
            before = fmu.look("torque", "phase")
            fmu.doStep(0.0, 0.002)
            assert fmu.look("torque_held", "phase_held") == before
            found.append(before)
        assert found == [[920.0 - 920.0, 2.0], [1000.0, 1.0], [920.0 - 920.0, 2.0]]


def test_a_native_twin_takes_the_samples_of_the_loop(tmp_path: Path) -> None:
    """Plant and controller in one FMU; what is set at a sample counts for it."""
    plant, pid = mbd.models.load("quarter_car"), load("pid", sample_time=5e-3, kp=2e3, ki=4e3, kd=30.0)
    links = {"c.measured": "plant.height_of_body", "plant.actuator": "c.y"}
    twin = mbd.controllers.inside(plant, {"c": pid}, links)
    settings: dict[str, Any] = {"scheme": "dop853", "tolerance": 1e-10}
    simulation, c = plant.start(**settings), pid.start()
    with opened(twin.export_fmu(tmp_path / "twin.fmu", runtime="native", **settings)) as fmu:
        fmu.begin()
        for k in range(120):
            c["setpoint"], c["measured"] = 0.02 * (k * 7 % 5 - 2), simulation["height_of_body"]
            fmu.put("c_setpoint", c["setpoint"])
            assert fmu.look("c_y")[0] == pytest.approx(c["y"], abs=1e-6)  # N, of 600: as late as 1e-8 of a sample
            simulation["actuator"] = c["y"]
            fmu.doStep(simulation.time, 5e-3)
            simulation.step(5e-3)
            c.step(5e-3)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError, match="unknown runtime 'pyhton'; did you mean 'python'"):
        load("skyhook").export_fmu(tmp_path / "x.fmu", runtime="pyhton")
    with pytest.raises(mbd.ModelError, match=r"must end in \.fmu"):
        load("skyhook").export_fmu(tmp_path / "x.zip")


# ---------------------------------------------------------------- what it refuses


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return python_host(tmp_path_factory.mktemp("host"))


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("key", "more"), [("pid", {}), ("skyhook", {**SAMPLED, "limit": 800.0})])
def test_random_calls_agree_with_the_table_of_states(
    key: str, more: dict[str, float], host: Host, tmp_path: Path, counts: Callable[..., int]
) -> None:
    path = exported(tmp_path, key, **more)
    folder, facts = unpacked(path, tmp_path / "unpacked"), mbd.fmu.info(path)
    findings = judged(
        host, folder, facts, counts(2000), 0, lambda m: m.accepted and not m.line.startswith(NOT_IN_PYTHON)
    )
    assert not findings, "\n".join(findings[:5])
    judged(  # no call crashes; its wrapper follows null pointers
        host, folder, facts, counts(2000), 1,
        lambda m: m.accepted or not m.line.startswith(("write", "restore", "forget", "load")),
    )  # fmt: skip


def test_a_refusal_discards_every_step_until_a_state_is_restored(tmp_path: Path) -> None:
    with opened(exported(tmp_path)) as fmu:
        fmu.begin()
        state = fmu.getFMUState()
        fmu.put("body_speed", float("nan"))
        assert "'body_speed' must be a finite number" in fmu.said[-1]
        with pytest.raises(FMICallException) as refused:
            fmu.doStep(0.0, 0.01)
        assert refused.value.status == fmi2Discard
        fmu.setFMUState(state)
        fmu.doStep(0.0, 0.01)
        assert fmu.look("time", "body_speed") == [0.01, 0.0]


class Type:
    """A type as the native core has them."""

    def __init__(self, name: str) -> None:
        self.name = name


REAL, INTEGER = Type("real"), Type("integer")


@pytest.fixture
def slave(tmp_path: Path) -> Slave:
    path = exported(tmp_path, **SAMPLED, lag=0.02)
    resources = unpacked(path, tmp_path / "slave") / "resources"
    content = Content.unpacked((resources / "controller.json").read_bytes())
    return Slave(content.controller(resources), content)


def begun(slave: Slave) -> Slave:
    answers = [slave.setup(0.0, None, None), slave.enter_initialization(), slave.exit_initialization()]
    assert answers == [OK, OK, OK]
    return slave


def reference(slave: Slave, name: str) -> int:
    return next(e.reference for e in slave._entries.values() if e.name == name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.do_step(0.5, 0.01), "a step from t = 0.5 s was asked for, the controller is at t = 0.0 s"),
        (lambda s: s.do_step(0.0, 0.0), "step size must be a positive number of seconds, found 0.0"),
        (lambda s: s.do_step(0.0, float("nan")), "must be a positive number"),
        (lambda s: s.do_step(0.0, 1e300), "no further than t = 1e+09 s"),
        (lambda s: s.do_step(0.0, 1e8), "more than 1e+06 samples"),
        (lambda s: s.setup(0.0, None, None), "setting up the experiment is not possible in the step mode"),
        (lambda s: s.exit_initialization(), "not possible in the step mode, but in the initialization mode"),
        (lambda s: s.get([4711], REAL)[0], "no variable with the value reference 4711"),
        (lambda s: s.get([reference(s, "gain")], INTEGER)[0], "'gain' (value reference 3) is of type Real"),
        (lambda s: s.set([reference(s, "force")], REAL, [1.0]), "'force' cannot be set"),
        (lambda s: s.set([reference(s, "lag")], REAL, [1.0]), "parameter 'lag' is fixed once"),
        (lambda s: s.set([reference(s, "gain")], REAL, [-1.0]), "'gain' must be at least 0, found -1"),
        (lambda s: s.set([reference(s, "body_speed")], REAL, [float("inf")]), "must be a finite number"),
        (lambda s: s.set([reference(s, "gain")], REAL, []), "1 variables need as many values, found 0"),
        (lambda s: s.set_texts([0], ["x"]), "is of type Real, not string"),
        (lambda s: s.restore(b""), "cut off"),
        (lambda s: s.restore(b"x" * 100), "no saved state"),
    ],
)
def test_what_is_refused_is_said_and_changes_nothing(slave: Slave, call: Any, said: str) -> None:
    begun(slave)
    slave.do_step(0.0, 0.01)
    slave.restore(slave.save()[1])
    fresh = begun_again(slave)
    assert call(fresh) in (ERROR, DISCARD)
    messages = fresh.messages()
    assert len(messages) == 1 and said in messages[0][2]
    assert fresh.save()[1] == begun_again(slave).save()[1]


def begun_again(slave: Slave) -> Slave:
    """Another instance of the same FMU, at the begin."""
    return begun(Slave(slave._exported, slave._content))


def test_all_of_several_values_are_set_or_none(slave: Slave) -> None:
    begun(slave)
    gain, speed = reference(slave, "gain"), reference(slave, "body_speed")
    assert slave.set([speed, gain], REAL, [2.0, -1.0]) == ERROR
    assert slave.get([speed, gain], REAL) == (OK, [0.0, 3000.0])


def test_values_that_do_not_fit_together_are_refused_before_the_start(slave: Slave) -> None:
    slave.setup(0.0, None, None)
    slave.enter_initialization()
    assert slave.set([reference(slave, "sample_time")], REAL, [0.05]) == OK
    assert slave.exit_initialization() == ERROR
    assert "more than twice the shortest time constant" in slave.messages()[-1][2]
    assert slave.set([reference(slave, "sample_time")], REAL, [0.002]) == OK
    assert slave.exit_initialization() == OK


def test_forged_states_are_refused_and_crash_nothing(slave: Slave) -> None:
    """Their checksum fits, their content does not."""
    begun(slave)
    slave.do_step(0.0, 0.013)
    content = slave.save()[1]
    head, payload = struct.Struct("<8sI32sI"), content[48:]
    good, rng = json.loads(payload), random.Random(1)
    replacements = (None, -1, 1e300, "x", [], {}, True, 2**60, -0.5, [[0]], {"x": None})
    refused = 0
    for _ in range(400):
        data = json.loads(payload)
        at = data["moment"] if rng.random() < 0.5 else data
        key = rng.choice(list(at))
        at[key] = rng.choice(replacements)
        if rng.random() < 0.2:
            at.pop(rng.choice(list(at)))
        forged = json.dumps(data).encode()
        mark, version, identity, _ = head.unpack_from(content)
        sealed = head.pack(mark, version, identity, zlib.crc32(forged)) + forged
        before = slave.save()[1]
        if slave.restore(sealed) == ERROR:
            refused += 1
            assert slave.save()[1] == before
        else:
            slave.do_step(good["moment"]["time"], 0.001)
            slave.restore(content)
    assert refused > 300
    assert slave.restore(content) == OK


def test_a_missing_source_gives_no_instance_and_names_the_cure(tmp_path: Path) -> None:
    path = exported(tmp_path)
    folder = unpacked(path, tmp_path / "unpacked")
    for file in (folder / "resources").glob("controller_*.py"):
        file.unlink()
    with pytest.raises(Exception, match="Failed to instantiate"), opened(path, folder):
        pass


def test_a_damaged_description_gives_no_instance_and_names_the_cure(tmp_path: Path) -> None:
    for content in (b"", b"{", b"[]", b"{}", b'{"format": 2}', b'{"format": 1, "entries": [1]}', b"\xff"):
        with pytest.raises(mbd.ModelError, match="export the controller again"):
            Content.unpacked(content)


def test_a_slave_in_python_loads_nothing_that_only_models_need() -> None:
    heavy = {"pydantic", "click", "h5py", "scipy", "fmpy", "lxml", "mbdfmu.facade", "mbdfmu.description"}
    done = in_new_process(f"import sys, mbdfmu.controllers.fmu; print(*({heavy} & set(sys.modules)))")
    assert done.returncode == 0 and done.stdout.split() == [], done.stdout + done.stderr


def test_a_controller_of_a_script_is_refused(tmp_path: Path) -> None:
    code = """
import sys
from dataclasses import dataclass
from mbdfmu.controllers import Controller, Law, Port

@dataclass(frozen=True, kw_only=True)
class Nothing(Controller, name="nothing"):
    outputs = {"y": Port()}
    def law(self, x, u):
        return Law({"y": 0.0})

Nothing().export_fmu(sys.argv[1])
"""
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script, tmp_path / "x.fmu"], capture_output=True, text=True)
    assert "the source of 'Nothing' cannot be packed into an FMU; move the class to the top of a module" in done.stderr
    (tmp_path / "own_controller.py").write_text(code.replace("Nothing().export_fmu(sys.argv[1])", ""), encoding="utf-8")
    module = "from own_controller import Nothing; import sys; Nothing().export_fmu(sys.argv[1])"
    command = [sys.executable, "-c", module, tmp_path / "x.fmu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with opened(tmp_path / "x.fmu") as fmu:
        fmu.begin()
        fmu.doStep(0.0, 0.1)
        assert fmu.look("y", "time") == [0.0, 0.1]


WILD = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, -1e-9, 1e9, -1e308, 1e308, float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize("more", [{}, SAMPLED])
def test_whatever_is_called_with_whatever_numbers_gets_an_answer(
    key: str, more: dict[str, float], tmp_path: Path, counts: Callable[..., int]
) -> None:
    resources = unpacked(exported(tmp_path, key, **more), tmp_path / "any") / "resources"
    content = Content.unpacked((resources / "controller.json").read_bytes())
    made, rng = content.controller(resources), random.Random(7)
    known = [e.reference for e in content.entries]
    for _ in range(counts(200, 0.1)):
        slave, states = Slave(made, content), [b""]
        if rng.random() < 0.8:
            begun(slave)
        for _ in range(25):
            before = slave.save()[1]
            answer = _anything(slave, rng, known, states)
            assert answer in (OK, DISCARD, ERROR)
            if answer != OK:
                assert slave.messages() and slave.save()[1] == before


def _anything(slave: Slave, rng: random.Random, known: list[int], states: list[bytes]) -> int:
    def some() -> list[int]:
        return [rng.choice([*known, 4711]) for _ in range(rng.randint(0, 3))]

    def saved() -> int:
        answer, state = slave.save()
        states.append(state)
        return answer

    now = slave._run.time if slave._run is not None else 0.0
    size = rng.choice([1e-3, 0.004, 0.01, 0.25, *WILD])
    calls: list[Callable[[], int]] = [
        lambda: slave.do_step(now, size),
        lambda: slave.do_step(now, abs(rng.gauss(0.0, 0.01))),
        lambda: slave.do_step(rng.choice(WILD), size),
        lambda: slave.set(references := some(), REAL, [rng.choice(WILD) for _ in references]),
        lambda: slave.get(some(), rng.choice([REAL, INTEGER]))[0],
        saved,
        lambda: slave.restore(rng.choice(states)),
        lambda: slave.setup(rng.choice(WILD), rng.choice([None, *WILD]), rng.choice([None, *WILD])),
        slave.enter_initialization,
        slave.exit_initialization,
        slave.terminate,
    ]
    return rng.choice(calls)()
