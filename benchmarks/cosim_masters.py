"""Runs two coupled FMUs in one master, in a process of its own, and prints what a step takes; must not make FMUs.

    python cosim_masters.py MASTER CAR.fmu SKY.fmu STEPS REPEATS

Each run loads, initialises and steps. CPU time of all threads, so that masters with threads of their own are not
flattered; the difference of runs of two lengths, each the smallest of some, so that what comes before the first step
falls out.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

STEP = 1e-4  # s
COUPLINGS = {"sky.body_speed": "car.body_speed", "sky.travel_rate": "car.travel_rate", "car.actuator": "sky.force"}
Files = Mapping[str, str]  # of FMUs by name
Master = Callable[[Files, int], int]  # makes steps, and says how many


# ---------------------------------------------------------------- ours


def ours(**settings: Any) -> Master:
    """`System.simulate` with every output in the table."""

    def run(files: Files, steps: int) -> int:
        made = _system(files, settings).simulate(steps * STEP, STEP).statistics
        return int(made["communication_steps"] + made["rejected_steps"])

    return run


def _system(files: Files, settings: Mapping[str, Any]) -> Any:
    from mbdfmu.cosim import System

    system = System("car", master=settings)
    for name, file in files.items():
        system.add(name, file)
    for target, source in COUPLINGS.items():
        system.connect(target, source)
    return system


def steps_alone(files: Files, steps: int) -> int:
    """The calls of doStep that our master makes, without values."""
    return _calls(files, steps, values=False)


def calls_alone(files: Files, steps: int) -> int:
    """All calls of FMI functions that our master makes, in its order."""
    return _calls(files, steps, values=True)


def _calls(files: Files, steps: int, *, values: bool) -> int:
    from mbdfmu.fmi.host import hosting
    from mbdfmu.fmi.instance import Experiment, Instance
    from mbdfmu.fmi.reading import info

    facts = {name: info(file) for name, file in files.items()}
    instances = {name: Instance(fact) for name, fact in facts.items()}
    for instance in instances.values():
        instance.prepare(Experiment(tolerance=instance.facts.tolerance))
        instance.begin()
    moves = [instance.calls.stepper(repeatable=False) for instance in instances.values()]
    passes = _passes(files, facts, instances) if values else []
    with hosting():
        for k in range(steps):
            for move in moves:
                move(k * STEP, STEP)
            for call in passes:
                call()
    for instance in instances.values():
        instance.close()
    return steps


def _passes(files: Files, facts: Mapping[str, Any], instances: Mapping[str, Any]) -> list[Callable[[], int]]:
    """Reads and writes in the order of our master; what is written is not what has been read, but 0."""
    import numpy as np

    from mbdfmu.cosim.wiring import READ, wired
    from mbdfmu.fmi.lanes import lanes

    outputs = [(name, v.name) for name, fact in facts.items() for v in fact.variables if v.causality == "output"]
    calls = []
    for one in wired(_system(files, {}).description, facts, outputs).passes:
        for lane in lanes(instances[one.fmu].calls, one.variables, np.zeros(len(one.variables))):
            calls.append(lane.read if one.kind == READ else lane.write)
    return calls


# ---------------------------------------------------------------- others


def fmpy(files: Files, steps: int) -> int:
    """A master as one writes it with fmpy alone: getReal, setReal, doStep."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        car, sky = (_fmpy_instance(file, f"{folder}/{name}") for name, file in files.items())
        heard, travelled, acting, outputs = _references(files["car"], "body_speed", "travel_rate", "actuator", "")
        speed, rate, force = _references(files["sky"], "body_speed", "travel_rate", "force")
        rows = []
        for k in range(steps):
            sky.setReal([*speed, *rate], car.getReal([*heard, *travelled]))
            car.setReal(acting, sky.getReal(force))
            car.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            sky.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            rows.append(car.getReal(outputs) + sky.getReal(force))
        for instance in (car, sky):
            instance.terminate()
            instance.freeInstance()
    return len(rows)


def _fmpy_instance(file: str, folder: str) -> Any:
    from fmpy import extract, read_model_description
    from fmpy.fmi2 import FMU2Slave

    description = read_model_description(file)
    identifier = description.coSimulation.modelIdentifier
    instance = FMU2Slave(
        guid=description.guid, unzipDirectory=extract(file, folder), modelIdentifier=identifier, instanceName="it"
    )
    instance.instantiate()
    instance.setupExperiment(startTime=0.0)
    instance.enterInitializationMode()
    instance.exitInitializationMode()
    return instance


def _references(file: str, *names: str) -> list[list[int]]:
    """Of each variable; of all outputs for an empty name."""
    from fmpy import read_model_description

    variables = read_model_description(file).modelVariables
    return [[v.valueReference for v in variables if v.name == name or (not name and v.causality == "output")]
            for name in names]  # fmt: skip


def libcosim(*, rows: bool) -> Master:
    """Many steps in one call, or one by one with outputs read after each."""

    def run(files: Files, steps: int) -> int:
        from libcosimpy.CosimExecution import CosimExecution
        from libcosimpy.CosimObserver import CosimObserver
        from libcosimpy.CosimSlave import CosimLocalSlave

        execution = CosimExecution.from_step_size(round(STEP * 1e9))
        slaves = {name: execution.add_local_slave(CosimLocalSlave(file, name)) for name, file in files.items()}
        for target, source in COUPLINGS.items():
            ends = [(fmu, *_references(files[fmu], name)) for fmu, name in (_split(source), _split(target))]
            execution.connect_real_variables(*(x for fmu, (reference,) in ends for x in (slaves[fmu], reference)))
        if not rows:
            assert execution.step(steps)
            return steps
        observer = CosimObserver.create_last_value()
        execution.add_observer(observer)
        wanted = [(slaves[name], *_references(file, "")) for name, file in files.items()]
        for _ in range(steps):
            execution.step()
            [observer.last_real_values(slave, references) for slave, references in wanted]
        return steps

    return run


def ecos(*, rows: bool) -> Master:
    """Many steps in one call, or one by one with outputs read after each."""

    def run(files: Files, steps: int) -> int:
        from ecospy import EcosSimulation, EcosSimulationStructure
        from fmpy import read_model_description

        structure = EcosSimulationStructure()
        for name, file in files.items():
            structure.add_model(name, file)
        for target, source in COUPLINGS.items():
            structure.make_real_connection("::".join(_split(source)), "::".join(_split(target)))
        wanted = [f"{name}::{v.name}" for name, file in files.items()
                  for v in read_model_description(file).modelVariables if v.causality == "output"]  # fmt: skip
        with EcosSimulation(STEP, structure=structure) as simulation:
            simulation.init()
            for _ in range(steps if rows else 1):
                simulation.step(1 if rows else steps)
                [simulation.get_real(name) for name in wanted]
            simulation.terminate()
        return steps

    return run


def _split(variable: str) -> tuple[str, str]:
    fmu, _, name = variable.partition(".")
    return fmu, name


MASTERS: dict[str, Master] = {
    "doStep alone": steps_alone,
    "all FMI calls alone": calls_alone,
    "mbdfmu": ours(),
    "mbdfmu, Gauss-Seidel": ours(algorithm="gauss-seidel"),
    "mbdfmu, extrapolation 1": ours(extrapolation=1),
    "mbdfmu, tolerance 1e-3": ours(extrapolation=1, tolerance=1e-3),
    "fmpy alone": fmpy,
    "libcosim": libcosim(rows=False),
    "libcosim, rows": libcosim(rows=True),
    "ecos": ecos(rows=False),
    "ecos, rows": ecos(rows=True),
}
PACKAGES = {"libcosim": "libcosimpy", "ecos": "ecospy"}


def main() -> None:
    master, car, sky, steps, repeats = sys.argv[1:]
    run, files = MASTERS[master], {"car": car, "sky": sky}
    best, made = [math.inf, math.inf], [0, 0]
    for _ in range(int(repeats)):
        for k in (0, 1):
            begin = time.process_time()
            made[k] = run(files, (k + 1) * int(steps))
            best[k] = min(best[k], time.process_time() - begin)
    print("\n", (best[1] - best[0]) / (made[1] - made[0]))


if __name__ == "__main__":
    main()
