"""Systems of coupled FMUs: files, couplings, order of evaluation, failures, stepping by hand."""

from __future__ import annotations

import json
import shutil
import signal
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from coupled_fmus import actuator, exact, export, mass, pair, through
from hostile import build as build_hostile
from pythonfmu.builder import FmuBuilder

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.cosim import System, SystemDescription
from mbdfmu.cosim.simulating import stops
from mbdfmu.errors import Ended, ModelError, StepFailed
from mbdfmu.fmi.calls import DISCARD, FATAL

INTERRUPTS = """
import signal
from pythonfmu import Fmi2Causality, Fmi2Slave, Real

class Interrupts(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.u = 0.0
        self.register_variable(Real("u", causality=Fmi2Causality.input))

    def do_step(self, time, size):
        if time > 0.25:
            signal.raise_signal(signal.SIGINT)
        return True
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fmus")
    failing = mbd.Model("failing")
    failing.add("u", mbd.Input())
    failing.add("x", mbd.State(rate="u + sqrt(0.55 - time)"))
    failing.add("y", mbd.Output(value="x"))
    for model in (mass(), actuator(), through("half", "0.5*u + 1"), through("minus", "-0.5*u + 2"), failing):
        export(model, path)
    return path


def loop(folder: Path, **master: object) -> System:
    """y = u/2 + 1 and y = 2 - u/2 fed by each other: 2 = 8/5 ... at once."""
    system = System("loop", master=master)
    system.add("half", folder / "half.fmu")
    system.add("minus", folder / "minus.fmu")
    system.connect("half.u", "minus.y")
    system.connect("minus.u", "half.y")
    return system


def edited(source: Path, target: Path, old: str, new: str) -> Path:
    """An FMU whose description says something else."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as copy:
        for entry in archive.infolist():
            content = archive.read(entry)
            if entry.filename == "modelDescription.xml":
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            copy.writestr(entry, content)
    return target


# ---------------------------------------------------------------- files


def test_a_system_is_the_same_after_saving_and_loading(folder: Path, tmp_path: Path) -> None:
    system = pair(folder, algorithm="gauss-seidel", extrapolation=1, order=["actuator"])
    system.bond("joint", effort="mass.force", flow="mass.speed")
    for name in ("mass", "actuator"):
        shutil.copy(folder / f"{name}.fmu", tmp_path)
    moved = System.from_description(system.description.moved(lambda file: tmp_path / file.name))
    moved.save(tmp_path / "pair.json")
    assert json.loads((tmp_path / "pair.json").read_text())["fmus"] == {"mass": "mass.fmu", "actuator": "actuator.fmu"}
    again = System.load(tmp_path / "pair.json")
    assert again.description == moved.description
    assert np.array_equal(again.simulate(0.1, 0.01)["mass.place"], system.simulate(0.1, 0.01)["mass.place"])


def test_all_that_is_wrong_with_a_system_file_is_said_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({
        "format_version": 1, "name": "x", "fmus": {"car": {"fmu": "car.fmu", "stepp": 1}, "abs": {"fmu": 3}},
        "couplings": {"slip": "car.slip", "car.brake": {"from": "abs.brake", "factor": "x"}},
        "master": {"algorithm": "jakobi", "extrapolation": 7}, "extra": 1,
    }))  # fmt: skip
    with pytest.raises(ModelError) as caught:
        SystemDescription.load(path)
    text = str(caught.value)
    for finding in ("fmus.car: unknown entry 'stepp'; did you mean 'step'?", "fmus.abs.fmu: must be the name of a file",
                    "couplings.slip: must be FMU.VARIABLE", "couplings.car.brake.factor", "master.algorithm",
                    "master.extrapolation", "unknown entry 'extra'"):  # fmt: skip
        assert finding in text
    assert all(line.startswith(str(path)) for line in caught.value.problems)


def test_lists_and_texts_are_asked_for_in_words_of_the_file(tmp_path: Path) -> None:
    data = {"format_version": 1, "name": "x", "fmus": {"a": "a.fmu"}, "record": [1], "master": {"order": "a"}}
    (tmp_path / "x.json").write_text(json.dumps(data))
    with pytest.raises(ModelError) as caught:
        System.load(tmp_path / "x.json")
    assert [problem.split("x.json: ")[1] for problem in sorted(caught.value.problems)] == [
        "master.order: must be a list [...], found 'a'",
        "record[0]: must be a text in quotes, found 1",
    ]


def test_a_key_given_twice_and_an_unknown_fmu_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"format_version": 1, "name": "x", "name": "y", "fmus": {"car": "car.fmu"}, '
                    '"couplings": {"cra.u": "car.y"}, "master": {"order": ["truck"]}}')  # fmt: skip
    with pytest.raises(ModelError) as caught:
        SystemDescription.load(path)
    text = str(caught.value)
    assert "name: the key is given twice" in text
    assert "couplings.cra.u: no FMU is called 'cra'; did you mean 'car'?" in text
    assert "master.order: no FMU is called 'truck'" in text


def test_fmus_that_are_not_there_are_named_together(tmp_path: Path) -> None:
    system = System("x")
    system.add("car", tmp_path / "car.fmu")
    system.add("abs", tmp_path / "abs.fmu")
    with pytest.raises(ModelError, match=r"(?s)fmus.car: .*there is no such file.*fmus.abs: "):
        system.check()


# ---------------------------------------------------------------- couplings


def test_couplings_that_cannot_be_are_named_with_the_cure(folder: Path) -> None:
    system = pair(folder)
    system.connect("mass.push", "mass.place")
    system.connect("mass.speed", "actuator.force")
    system.connect("mass.pull", "actuator.force")
    with pytest.raises(ModelError) as caught:
        system.check()
    text = str(caught.value)
    assert "couplings.mass.push: is in N, mass.place is in m; couple what fits" in text
    assert "couplings.mass.speed: is an output; only inputs can be coupled" in text
    assert "couplings.mass.pull: FMU 'mass' has no variable 'pull'" in text and "known: " in text


def test_only_outputs_are_sources_and_nothing_is_driven_twice(folder: Path) -> None:
    system = pair(folder)
    with pytest.raises(ModelError, match=r"couplings.mass.force: is there already"):
        system.connect("mass.force", "actuator.force")
    system.connect("mass.push", "actuator.speed")
    with pytest.raises(ModelError, match=r"actuator\.speed is an input; values can be taken from outputs only"):
        system.check()


def test_both_ends_of_a_coupling_are_looked_at(folder: Path) -> None:
    system = System("wrong")
    system.add("mass", folder / "mass.fmu")
    system.connect("mass.pull", "mass.sped")
    with pytest.raises(ModelError) as caught:
        system.check()
    assert [problem.partition(";")[0] for problem in caught.value.problems] == [
        "couplings.mass.pull: FMU 'mass' has no variable 'pull'",
        "couplings.mass.pull: FMU 'mass' has no variable 'sped'",
    ]


def test_units_of_one_quantity_are_converted_and_said(folder: Path, tmp_path: Path) -> None:
    edited(folder / "mass.fmu", tmp_path / "mass.fmu", 'unit="m/s"', 'unit="km/h"')
    shutil.copy(folder / "actuator.fmu", tmp_path)
    system = pair(tmp_path)
    link = next(x for x in system.check().links if x.target == ("actuator", "speed"))
    assert link.factor == pytest.approx(1 / 3.6, rel=1e-15)
    assert system.check().notes == ("actuator.speed [m/s] is 0.277778 times mass.speed [km/h]",)


def test_factor_and_offset_are_applied(folder: Path) -> None:
    system = System("scaled")
    system.add("mass", folder / "mass.fmu")
    system.add("half", folder / "half.fmu")
    system.connect("half.u", "mass.speed", factor=2.0, offset=-1.0)
    result = system.simulate(0.2, 0.1, record=["half.y", "mass.speed"])
    assert result["half.y"] == pytest.approx(0.5 * (2 * result["mass.speed"] - 1) + 1, rel=1e-15)


def test_types_must_fit(folder: Path, tmp_path: Path) -> None:
    system = System("typed")
    edited(folder / "half.fmu", tmp_path / "half.fmu", 'name="u"', 'name="v"')
    system.add("mass", folder / "mass.fmu")
    system.add("half", tmp_path / "half.fmu")
    system.connect("half.u", "mass.speed")
    with pytest.raises(ModelError, match=r"couplings.half.u: FMU 'half' has no variable 'u'"):
        system.check()


# ---------------------------------------------------------------- order and loops


def test_outputs_that_answer_at_once_are_read_after_their_inputs(folder: Path) -> None:
    """mass.acceleration depends on the force at once, the force on no input: all values belong to one time."""
    system = pair(folder)
    passes = [(one.kind, one.fmu) for one in system.check().passes]
    assert passes == [("read", "mass"), ("read", "actuator"), ("write", "mass"), ("write", "actuator")]
    result = system.simulate(0.5, 0.05, record=["mass.*", "actuator.force"])
    expected = -40.0 * result["mass.place"] + result["actuator.force"]
    assert result["mass.acceleration"] == pytest.approx(expected, rel=1e-12)


def test_recorded_inputs_and_locals_belong_to_the_time_of_their_row(folder: Path) -> None:
    """They were what they had been a step before."""
    names = ["mass.force", "actuator.force", "mass.der(v)", "mass.acceleration", "actuator.speed", "mass.speed"]
    result = pair(folder).simulate(0.5, 0.1, record=names)
    assert np.array_equal(result["mass.force"], result["actuator.force"])
    assert np.array_equal(result["actuator.speed"], result["mass.speed"])
    assert result["mass.der(v)"] == pytest.approx(result["mass.acceleration"], rel=1e-13)


def test_a_chain_through_feedthrough_passes_in_one_point(folder: Path) -> None:
    system = System("chain")
    for name in ("a", "b", "c"):
        system.add(name, folder / "half.fmu")
    system.add("mass", folder / "mass.fmu")
    for target, source in (("a.u", "mass.place"), ("b.u", "a.y"), ("c.u", "b.y")):
        system.connect(target, source, **({"factor": 1.0} if target == "a.u" else {}))
    result = system.simulate(0.3, 0.1, record=["mass.place", "c.y"])
    assert result["c.y"] == pytest.approx(result["mass.place"] / 8 + 1.75, rel=1e-14)


def test_an_algebraic_loop_is_named_with_its_cures(folder: Path) -> None:
    with pytest.raises(ModelError) as caught:
        loop(folder).check()
    text = str(caught.value)
    assert "an algebraic loop" in text and '"delayed": true' in text and '"iterations"' in text
    assert all(name in text for name in ("half.u", "minus.y", "minus.u", "half.y"))


def test_a_loop_is_solved_where_the_master_iterates(folder: Path) -> None:
    """a = b/2 + 1 and b = 2 - a/2: a = 1.6, b = 1.2."""
    result = loop(folder, iterations=10).simulate(0.2, 0.1, record=["half.y", "minus.y"])
    assert result["half.y"] == pytest.approx(np.full(3, 1.6), abs=1e-11)
    assert result["minus.y"] == pytest.approx(np.full(3, 1.2), abs=1e-11)


@pytest.mark.parametrize("law", ["3*u + 1", "4*u + 1", "-7*u", "200*u - 3", "2 - u - u^3", "40*sin(u) + exp(-u^2)"])
def test_a_loop_of_any_gain_is_solved(law: str, folder: Path, tmp_path: Path) -> None:
    """Values that pass round and round settle where the gain is below 1; of -2 they grew."""
    export(through("half", law), tmp_path)
    shutil.copy(folder / "minus.fmu", tmp_path)
    result = loop(tmp_path, iterations=10).simulate(0.2, 0.1, record=["half.y", "minus.y"])
    names = {"sin": np.sin, "exp": np.exp, "u": result["minus.y"]}
    assert result["half.y"] == pytest.approx(eval(law.replace("^", "**"), names), rel=1e-10, abs=1e-10)
    assert result["minus.y"] == pytest.approx(2 - result["half.y"] / 2, rel=1e-10)


@pytest.mark.nightly
def test_coupled_loops_are_solved(folder: Path, tmp_path: Path) -> None:
    """Rings of four FMUs with gains up to 5 in each, two of which share an FMU's output."""
    for gains in np.random.default_rng(21).uniform(-5, 5, (10, 4)):
        system, names = System("ring", master={"iterations": 5}), "abcd"
        for name, gain in zip(names, gains, strict=True):
            (tmp_path / name).mkdir(exist_ok=True)
            export(through(name, f"{gain}*u + 1"), tmp_path / name)
            system.add(name, tmp_path / name / f"{name}.fmu")
        for target, source in zip(names, names[1:] + names[0], strict=True):
            system.connect(f"{target}.u", f"{source}.y")
        y = system.simulate(0.2, 0.1, record=["*.y"])
        matrix = np.eye(4) - gains[:, None] * np.roll(np.eye(4), 1, axis=1)
        exact = np.linalg.solve(matrix, np.ones(4))
        found = [y[f"{name}.y"][-1] for name in names]
        assert found == pytest.approx(exact, rel=1e-9 * np.linalg.cond(matrix))


def test_a_loop_without_solution_is_named_and_no_bad_advice_is_given(folder: Path, tmp_path: Path) -> None:
    for law, gain in (("-2*u + 1", "1"), ("if(u > 2, 9, -9)", None)):
        export(through("half", law), tmp_path)
        shutil.copy(folder / "minus.fmu", tmp_path)
        with pytest.raises(ModelError, match=r"does not settle in 100 rounds at t = 0 s") as caught:
            loop(tmp_path, iterations=10).simulate(0.2, 0.1)
        if gain:
            assert f"its gain is about {gain}, so that with a delayed coupling" in str(caught.value)


def test_an_item_of_an_enumeration_passes_as_its_number(tmp_path: Path) -> None:
    items = '<TypeDefinitions><SimpleType name="Gear"><Enumeration><Item name="low" value="1"/><Item name="high" ' \
        'value="2"/></Enumeration></SimpleType></TypeDefinitions><ModelVariables>'  # fmt: skip
    discrete = 'causality="output" variability="discrete"'
    source = {
        "<ModelVariables>": items, "<Real/>": '<Enumeration declaredType="Gear"/>', 'causality="output"': discrete,
    }  # fmt: skip
    target = {'<Real start="0"/>': '<Integer start="0"/>'}
    target['causality="input"'] = 'causality="input" variability="discrete"'
    system = System("gears")
    for name, edits in (("one", source), ("two", target)):
        (tmp_path / name).mkdir()
        system.add(name, build_hostile(tmp_path / name, edits=edits))
    system.connect("two.u", "one.y")
    assert system.check().notes == ("two.u (Integer) is the number of the item that one.y names",)
    result = system.simulate(0.2, 0.1, record=["one.y", "two.y"])
    assert result["one.y"].tolist() == [2, 2, 2]
    assert result["two.y"][1:] == pytest.approx(2 + np.sin(6 * result.time[1:]))


@pytest.mark.parametrize(("found", "factor"), [("[m]", 1.0), ("[ mm ]", 1e-3), ("m", 1.0)])
def test_units_in_brackets_are_units(found: str, factor: float, tmp_path: Path) -> None:
    def unit(name: str) -> dict[str, str]:
        defined = f'<UnitDefinitions><Unit name="{name}"/></UnitDefinitions><ModelVariables>'
        real = f'<Real unit="{name}"'
        return {"<ModelVariables>": defined, "<Real/>": f"{real}/>", "<Real start": f"{real} start"}

    system = System("units")
    for name, written in (("one", found), ("two", "m")):
        (tmp_path / name).mkdir()
        system.add(name, build_hostile(tmp_path / name, edits=unit(written)))
    system.connect("two.u", "one.y")
    assert system.check().links[0].factor == pytest.approx(factor)


def test_a_delayed_coupling_takes_the_value_of_the_last_point(folder: Path) -> None:
    system = System("delayed")
    system.add("half", folder / "half.fmu")
    system.add("minus", folder / "minus.fmu")
    system.connect("half.u", "minus.y", delayed=True)
    system.connect("minus.u", "half.y")
    result = system.simulate(0.5, 0.1, record=["half.y", "minus.y"])
    assert result["half.y"][1:] == pytest.approx(0.5 * result["minus.y"][:-1] + 1, rel=1e-14)


def test_fmus_that_do_not_say_what_they_depend_on_count_as_answering_at_once(folder: Path, tmp_path: Path) -> None:
    edited(folder / "mass.fmu", tmp_path / "mass.fmu", 'dependencies=""', "")
    edited(folder / "actuator.fmu", tmp_path / "actuator.fmu", 'dependencies=""', "")
    with pytest.raises(ModelError, match=r"FMU actuator, mass does not say what its outputs depend on"):
        pair(tmp_path).check()


# ---------------------------------------------------------------- runs


def test_a_failing_fmu_ends_the_run_and_keeps_what_was_computed(folder: Path) -> None:
    system = System("fails")
    system.add("mass", folder / "mass.fmu")
    system.add("breaks", folder / "failing.fmu")
    system.connect("breaks.u", "mass.place", factor=1.0)
    with pytest.raises(StepFailed, match=r"FMU 'breaks' gave up at t = 0.5 s: .*") as caught:
        system.simulate(1.0, 0.1)
    result = caught.value.result
    assert result.time[-1] == pytest.approx(0.5) and not result.complete
    assert result["mass.place"][0] == 0.5 and "breaks" in result.message


def test_under_error_control_a_failing_step_is_tried_smaller_and_then_given_up(folder: Path) -> None:
    system = System("fails", master={"tolerance": 1e-2, "smallest_step": 1e-4})
    system.add("breaks", folder / "failing.fmu")
    system.add("mass", folder / "mass.fmu")
    system.connect("breaks.u", "mass.place", factor=1.0)
    with pytest.raises(StepFailed, match=r"no communication step of 0.0001 s and more .*FMU 'breaks'") as caught:
        system.simulate(1.0, 0.1)
    assert 0.54 < caught.value.result.time[-1] < 0.5501


def test_what_no_step_is_small_enough_for_is_named_with_the_cure(folder: Path) -> None:
    """Smaller communication steps do not help against the step of one FMU."""
    said = r"mass\.force from actuator\.force is too far off; raise master\.tolerance, or shorten the step of 0\.02"
    with pytest.raises(StepFailed, match=said):
        pair(folder, actuator_step=0.02, tolerance=1e-4, extrapolation=1).simulate(1.0, 0.01)


def test_steps_that_must_be_taken_back_need_fmus_that_can(folder: Path, tmp_path: Path) -> None:
    edited(folder / "mass.fmu", tmp_path / "mass.fmu", 'canGetAndSetFMUstate="true"', 'canGetAndSetFMUstate="false"')
    shutil.copy(folder / "actuator.fmu", tmp_path)
    with pytest.raises(ModelError, match=r"master.iterations: .* which FMU 'mass' cannot .*leave iterations out"):
        pair(tmp_path, iterations=5).simulate(0.1, 0.01)


def test_steps_of_one_size_are_kept_where_an_fmu_takes_no_others(folder: Path, tmp_path: Path) -> None:
    flag = 'canHandleVariableCommunicationStepSize="{}"'
    edited(folder / "mass.fmu", tmp_path / "mass.fmu", flag.format("true"), flag.format("false"))
    shutil.copy(folder / "actuator.fmu", tmp_path)
    assert len(pair(tmp_path).simulate(1.0, 0.1).time) == 11
    with pytest.raises(StepFailed, match=r"FMU 'mass' takes steps of one size only .* at t = 0.9 s") as caught:
        pair(tmp_path).simulate(1.0, 0.3)
    assert caught.value.result.time[-1] == pytest.approx(0.9)
    with pytest.raises(ModelError, match=r"master.tolerance: steps vary in size, which FMU 'mass' cannot take"):
        pair(tmp_path, tolerance=1e-3).simulate(1.0, 0.1)


@pytest.mark.parametrize("master", [{}, {"tolerance": 1e-2}, {"iterations": 20}])
def test_an_fmu_that_is_lost_is_not_called_again(folder: Path, master: dict[str, object]) -> None:
    """After fmi2Fatal no function may be called, not even to go back for a smaller step."""
    with pair(folder, **master).start() as run, pytest.MonkeyPatch.context() as patch:
        run.step_size = 0.1
        run.step(0.1)
        lost = run._slaves[0]
        patch.setattr(type(lost.instance.calls), "stepper", lambda *_, repeatable: lambda time, size: FATAL)
        lost._step, lost.restore = lost.instance.stepper(), lambda state: pytest.fail("called again")  # type: ignore
        with pytest.raises(StepFailed, match=r"FMU 'mass' gave up at t = 0.1 s"):
            run.step(0.1)
        with pytest.raises(StepFailed, match="start the system again"):
            run.step(0.1)


def test_an_fmu_that_has_ended_the_simulation_ends_it_under_error_control_too(folder: Path) -> None:
    with pair(folder, tolerance=1e-2).start() as run:
        run.step_size = 0.1
        run.step(0.1)
        instance = run._slaves[0].instance
        with pytest.MonkeyPatch.context() as patch, pytest.raises(Ended, match=r"^FMU 'mass' has ended the sim"):
            patch.setattr(type(instance.calls), "ended_at", lambda _: 0.1)
            instance.facts = replace(instance.facts, runtime="native")
            patch.setattr(type(instance.calls), "stepper", lambda *_, repeatable: lambda time, size: DISCARD)
            run._slaves[0]._step = instance.stepper()
            run.step(0.1)


def test_failures_at_the_start_name_the_fmu_as_the_system_does(folder: Path) -> None:
    system = System("twice")
    system.add("first", folder / "mass.fmu")
    system.add("second", folder / "mass.fmu", parameters={"m": 0.0})
    with pytest.raises(ModelError, match=r"^FMU 'second' "):
        system.simulate(1.0, 0.1)


def test_values_that_cannot_be_set_are_named_and_change_nothing(folder: Path) -> None:
    given = pair(folder).start(inputs={"mass.push": 3.0})
    with given as run, pytest.raises(ModelError, match=r"'mass.push' has been given when the system was started"):
        run["mass.push"] = 4.0
    with pair(folder).start() as run:
        for value, said in ((None, "must be a number, found None"), (np.nan, "'mass.push' cannot be nan: FMU 'mass'")):
            with pytest.raises(ModelError, match=said):
                run["mass.push"] = value  # type: ignore[assignment]
        run.step(0.1)
        assert run["mass.push"] == 0.0


def test_a_bond_takes_the_name_of_no_variable(tmp_path: Path, folder: Path) -> None:
    edited(folder / "mass.fmu", tmp_path / "mass.fmu", 'name="place"', 'name="energy"')
    shutil.copy(folder / "actuator.fmu", tmp_path)
    system = pair(tmp_path)
    system.bond("mass", effort="mass.force", flow="mass.speed")
    with pytest.raises(ModelError, match=r"bonds.mass: FMU 'mass' has a variable 'energy' too"):
        system.check()


def test_arguments_of_other_types_are_named(folder: Path) -> None:
    system, other = pair(folder), System("other")
    with pytest.raises(ModelError, match=r"record must be names or patterns such as 'car.\*', found 5"):
        system.simulate(1, 0.1, record=5)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"parameters must be values by name, .* found \[1\]"):
        system.simulate(1, 0.1, parameters=[1])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"parameter 5: must be FMU.NAME; known FMUs: mass, actuator"):
        system.simulate(1, 0.1, parameters={5: 1.0})  # type: ignore[dict-item]
    other.add("car", 5)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"fmus.car.fmu: must be the name of a file, found 5"):
        other.check()
    with system.start() as run, pytest.raises(ModelError, match="no FMU is called '5'"):
        run[5]  # type: ignore[index]


def test_constant_inputs_are_inputs_and_an_order_names_each_fmu_once(folder: Path) -> None:
    system = System("wrong")
    system.add("mass", folder / "mass.fmu", inputs={"k": 5.0})
    with pytest.raises(ModelError, match=r"^fmus.mass: inputs: 'k' is fixed parameter, which is no input"):
        system.simulate(1.0, 0.1)
    with pytest.raises(ModelError, match=r"master.order: 'mass' is there 2 times; name it once"):
        pair(folder, algorithm="gauss-seidel", order=["mass", "mass"]).check()


@pytest.mark.parametrize("section", ["parameters", "inputs"])
def test_a_value_of_a_coupled_input_is_refused(folder: Path, section: str) -> None:
    system = System("twice")
    system.add("mass", folder / "mass.fmu", **{section: {"force": 5.0, "push": 1.0}})
    system.add("actuator", folder / "actuator.fmu")
    system.connect("mass.force", "actuator.force")
    said = rf"^fmus.mass.{section}: 'force' is an input that takes its value from actuator.force \(couplings"
    with pytest.raises(ModelError, match=said) as caught:
        system.simulate(1.0, 0.1)
    assert "leave out the value or the coupling" in str(caught.value) and len(caught.value.problems) == 1
    with pytest.raises(ModelError, match=r"inputs: mass.force is coupled to actuator.force"):
        pair(folder).simulate(1.0, 0.1, inputs={"mass.force": ([0.0], [1.0])})


@pytest.mark.parametrize("more", [[], ["--save", "other.json"]])
def test_the_command_line_refuses_values_of_coupled_inputs(folder: Path, tmp_path: Path, more: list[str]) -> None:
    pair(folder).save(tmp_path / "pair.json")
    command = ["cosim", str(tmp_path / "pair.json"), "-t", "1", "--step", "0.1", "--set", "mass.force=5", *more]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2 and "'force' is an input that takes its value from actuator.force" in done.output


def test_a_system_is_stepped_read_and_set_by_hand(folder: Path) -> None:
    with pair(folder).start() as run:
        for _ in range(10):
            run.step(0.01)
        assert run.time == pytest.approx(0.1)
        before = run["mass.acceleration"]
        run["mass.push"] = 5.0
        assert run["mass.acceleration"] == pytest.approx(before + 5.0, rel=1e-12)
        with pytest.raises(ModelError, match=r"'mass\.force' is coupled"):
            run["mass.force"] = 1.0
        with pytest.raises(ModelError, match="no FMU is called 'mas'; did you mean 'mass'"):
            run["mas.x"]
        with pytest.raises(ModelError, match="step must be a positive number"):
            run.step(-1)


def test_a_closed_run_is_refused_and_does_not_crash(folder: Path) -> None:
    run = pair(folder).start()
    run.close()
    run.close()
    for use in (lambda: run.step(0.1), lambda: run["mass.speed"], lambda: run.__setitem__("mass.push", 1.0)):
        with pytest.raises(ModelError, match="system 'pair' is closed; start it again"):
            use()


def test_an_element_set_by_hand_leaves_the_coupled_ones_of_its_array(folder: Path, tmp_path: Path) -> None:
    """They fell back to their start values for a step."""
    model = mbd.Model("sums")
    model.add("u", mbd.Input(start=(1.0, 2.0, 3.0)))
    model.add("x", mbd.State(rate="u[1] + 10*u[2] + 100*u[3]"))
    model.add("y", mbd.Output(value="x"))
    export(model, tmp_path, interface="cs3")
    system = System("array")
    system.add("mass", folder / "mass.fmu")
    system.add("sums", tmp_path / "sums.fmu")
    system.connect("sums.u[2]", "mass.speed", factor=1.0)
    with system.start() as run:
        run.step(0.1)
        speed, before = float(run["mass.speed"]), float(run["sums.y"])
        run["sums.u[3]"] = 0.0
        assert run["sums.u[1]"] == 1.0 and run["sums.u[2]"] == speed
        run.step(0.1)
        assert run["sums.y"] - before == pytest.approx(0.1 * (1 + 10 * speed), rel=1e-9)


def test_inputs_from_outside_reach_the_fmus_as_lines(folder: Path, tmp_path: Path) -> None:
    """A push that rises in a line is followed within steps, so the error is that of the coupling alone."""
    (tmp_path / "push.csv").write_text("time [s],mass.push [N]\n0,0\n1,4\n")
    errors = []
    for step in (0.05, 0.025):
        result = pair(folder, extrapolation=1).simulate(1.0, step, inputs=tmp_path / "push.csv", record=["mass.place"])
        fine = pair(folder, extrapolation=2).simulate(1.0, 0.002, inputs=tmp_path / "push.csv", step_output=step)
        errors.append(np.max(np.abs(result["mass.place"] - fine["mass.place"])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)
    assert "mass.push" in result and result["mass.push"][-1] == 4.0


def test_start_values_parameters_and_constant_inputs_are_set(folder: Path) -> None:
    system = System("set")
    system.add("mass", folder / "mass.fmu", parameters={"k": 0.0, "v.start": 0.0, "x.start": 2.0}, inputs={"push": 3.0})
    result = system.simulate(1.0, 0.1, record=["mass.place"])
    assert result["mass.place"][-1] == pytest.approx(2.0 + 1.5, rel=1e-9)


def test_rows_are_written_at_the_times_asked_for(folder: Path) -> None:
    result = pair(folder).simulate(1.0, 0.03, step_output=0.1, record=["mass.place"])
    assert result.time == pytest.approx(np.arange(11) * 0.1, abs=1e-12)


def test_times_that_cannot_be_are_named_and_zero_is_a_time(folder: Path) -> None:
    """An end at 0 was taken for none, a step of 0 for the default."""
    system = pair(folder)
    assert system.simulate(0, 0.25, t_start=-1).time == pytest.approx([-1, -0.75, -0.5, -0.25, 0])
    with pytest.raises(ModelError) as caught:
        system.simulate("1", 0, step_output=-1)  # type: ignore[arg-type]
    assert caught.value.problems == [
        "t_end must be a finite number of seconds, found '1'",
        "step must be a positive number of seconds, found 0",
        "step_output must be a positive number of seconds, found -1",
    ]
    with pytest.raises(ModelError, match="t_end must lie behind t_start = 2 s, found 1 s"):
        system.simulate(1, 0.1, t_start=2)
    with pytest.raises(ModelError, match="step must be a positive number of seconds, found -1"):
        pair(folder, tolerance=1e-3).simulate(1, -1)


@pytest.mark.parametrize("begin", [0.0, -5.0, 36000.0, 1e6])
def test_steps_of_their_own_leave_no_tiny_steps(folder: Path, begin: float) -> None:
    """30 ms are three steps of 10 ms, however times are rounded; at 1e6 s there was no step at all."""
    result = pair(folder, actuator_step=0.03).simulate(begin + 1, 0.01, t_start=begin)
    assert result.time == pytest.approx(begin + np.arange(101) * 0.01, abs=1e-9)
    assert np.flatnonzero(np.diff(result["actuator.force"])).tolist() == [*range(2, 99, 3)]


def test_a_step_of_its_own_that_is_far_too_short_is_named(folder: Path) -> None:
    with pytest.raises(StepFailed, match=r"fmus.actuator.step: 1e-12 s makes more than 1e\+06 steps of one of 0.1 s"):
        pair(folder, actuator_step=1e-12).simulate(1.0, 0.1)


def test_times_of_steps_and_rows_that_differ_by_rounding_are_one() -> None:
    found, recorded = stops(1e6, 1e6 + 1, 1e-3, 1e-2, [])
    assert len(found) == 1000 and recorded is not None and len(recorded) == 100


def test_without_couplings_fmus_run_as_alone(folder: Path) -> None:
    system = System("alone")
    system.add("mass", folder / "mass.fmu")
    alone = mbd.fmu.simulate(folder / "mass.fmu", 1.0, 0.1, record=["place"])
    assert np.array_equal(system.simulate(1.0, 0.1, record=["mass.place"])["mass.place"], alone["place"])


# ---------------------------------------------------------------- the command line


def test_the_command_line_runs_a_system_and_writes_the_table(folder: Path, tmp_path: Path) -> None:
    system = pair(folder, extrapolation=2)
    system.save(tmp_path / "pair.json")
    out = tmp_path / "out.csv"
    done = CliRunner().invoke(main, ["cosim", str(tmp_path / "pair.json"), "-t", "1", "--step", "2e-3", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "mass.force" in done.output and "<-" in done.output
    result = mbd.Result.read(out)
    assert result["actuator.force"][-1] == pytest.approx(exact(np.array([1.0]))[0, 2], abs=1e-3)
    assert result.unit("actuator.force") == "N"


def test_the_command_line_ends_with_1_where_an_fmu_fails(folder: Path, tmp_path: Path) -> None:
    system = System("fails")
    system.add("breaks", folder / "failing.fmu")
    system.save(tmp_path / "x.json")
    out = tmp_path / "out.csv"
    done = CliRunner().invoke(main, ["cosim", str(tmp_path / "x.json"), "-t", "1", "--step", "0.1", "-o", str(out)])
    assert done.exit_code == 1 and "FMU 'breaks' gave up" in done.output and out.is_file()


def test_ctrl_c_that_a_python_slave_makes_a_failure_of_is_ctrl_c(folder: Path, tmp_path: Path) -> None:
    """Slaves of pythonfmu meet the KeyboardInterrupt themselves and report a fatal error."""
    (tmp_path / "interrupts.py").write_text(INTERRUPTS)
    FmuBuilder.build_FMU(tmp_path / "interrupts.py", dest=tmp_path)
    system = System("interrupted")
    system.add("mass", folder / "mass.fmu")
    system.add("slave", tmp_path / "Interrupts.fmu")
    system.connect("slave.u", "mass.place", factor=1.0)
    system.save(tmp_path / "x.json")
    out = tmp_path / "out.csv"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    try:
        command = ["cosim", str(tmp_path / "x.json"), "-t", "1", "--step", "0.1", "-o", str(out), "--no-isolate"]
        done = CliRunner().invoke(main, command)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exit_code == 130 and "interrupted at t = 0.3 s of 1 s" in done.output, done.output
    assert mbd.Result.read(out).time == pytest.approx([0, 0.1, 0.2, 0.3])


# ---------------------------------------------------------------- what error control cannot see


def integrated(folder: Path, delayed: bool = False, **controller: Any) -> System:
    """An integrator under a proportional controller, to be at 1."""
    plant = mbd.Model("plant")
    plant.add("u", mbd.Input())
    plant.add("x", mbd.State(rate="u"))
    plant.add("y", mbd.Output(value="x"))
    export(plant, folder)
    mbd.controllers.load("pid", kp=2.0, filter_time=1.0, **controller).export_fmu(folder / "c.fmu")
    system = System("integrated")
    system.add("plant", folder / "plant.fmu")
    system.add("c", folder / "c.fmu", inputs={"setpoint": 1.0})
    system.connect("c.measured", "plant.y")
    system.connect("plant.u", "c.y", delayed=delayed)
    return system


def test_an_integrator_under_samples_and_error_control_comes_to_rest(tmp_path: Path) -> None:
    """It ended at -105 for 0: one step to the end."""
    found = integrated(tmp_path, sample_time=0.1).with_master(tolerance=1e-4).simulate(10.0)
    assert found["plant.y"][-1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.nightly
def test_what_is_delayed_counts_in_the_error(tmp_path: Path) -> None:
    """A loop that is torn by a delay is as exact as asked for: 1 - exp(-2 t)."""
    system = integrated(tmp_path, delayed=True)
    errors = []
    for tolerance in (1e-2, 1e-3, 1e-4):
        found = system.with_master(tolerance=tolerance).simulate(2.0)
        errors.append(float(np.max(np.abs(found["plant.y"] - (1 - np.exp(-2 * found.time))))))
        assert errors[-1] < 2 * tolerance
    assert errors[2] < 0.1 * errors[0]


def test_samples_of_which_nothing_is_known_are_refused_by_name(tmp_path: Path) -> None:
    system = integrated(tmp_path, sample_time=0.1)
    (tmp_path / "c.fmu").rename(tmp_path / "whole.fmu")
    edited(tmp_path / "whole.fmu", tmp_path / "c.fmu", ' stepSize="0.1"', "")
    with pytest.raises(ModelError, match=r'fmus.c: measured, y changes at points in time .* give the FMU its sample'):
        system.with_master(tolerance=1e-4).start()


# ---------------------------------------------------------------- starts and loops


@pytest.mark.parametrize("first", ["counter", "source"])
@pytest.mark.parametrize("feed", ["loop", "delayed loop", "delayed"])
def test_no_event_sees_values_on_their_way_at_the_start(first: str, feed: str, tmp_path: Path) -> None:
    """An input that nobody had said yet was 0 when the FMUs began: what waits for `u < 1` counted."""
    counter = mbd.Model("counter")
    counter.add("u", mbd.Input(start=5.0))
    counter.add("n", mbd.State(rate="0"))
    counter.add("low", mbd.Event(when="u < 1", set={"n": "n + 1"}))
    counter.add("y", mbd.Output(value="0.001*u"))
    counter.add("count", mbd.Output(value="n"))
    source = mbd.Model("source")
    source.add("w", mbd.Input())
    source.add("s", mbd.State(rate="0", start=5.0))
    source.add("y", mbd.Output(value="s + 0.5*w"))
    system = System("start", master={"iterations": 5} if feed == "loop" else {})
    for model in (counter, source) if first == "counter" else (source, counter):
        system.add(model.name, export(model, tmp_path))
    system.connect("counter.u", "source.y", delayed=feed != "loop")
    if "loop" in feed:
        system.connect("source.w", "counter.y")
    found = system.simulate(0.1, 0.01)
    assert np.all(found["counter.count"] == 0)


def test_a_loop_over_an_fmu_with_a_longer_step_is_one_at_its_times_only(tmp_path: Path) -> None:
    """It ended in a traceback of two unpacked values."""
    for name, expression in (("one", "0.5*u + 1"), ("two", "0.5*u")):
        export(through(name, expression), tmp_path)
    system = System("loop", master={"iterations": 20})
    system.add("one", tmp_path / "one.fmu")
    system.add("two", tmp_path / "two.fmu", step=0.02)
    system.connect("one.u", "two.y")
    system.connect("two.u", "one.y")
    found = system.simulate(0.1, 0.01)
    assert found["one.y"] == pytest.approx(4 / 3, abs=1e-9)
    assert found["two.y"] == pytest.approx(2 / 3, abs=1e-9)
