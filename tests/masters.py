"""Runs one FMU in one of the masters that others have written, in a process of its own; no test stands here.

    python masters.py MASTER JOB.json RESULT.npz

The job: `fmu`, `identifiers` and `references` of what is recorded, `inputs` (name, reference and a value for every
step), `times` of the communication points, evenly spaced. The result: `values`, a row after every step.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Job = dict[str, Any]
Values = NDArray[np.float64]


def fmpy(job: Job) -> Values:
    """The loop of fmpy.simulate_fmu with inputs that are held: a row before and one behind every jump."""
    from fmpy import simulate_fmu

    times = np.array(job["times"])
    names = [i["name"] for i in job["inputs"]]
    levels = np.array([i["values"] for i in job["inputs"]]).T
    signals = None
    if names:
        rows = [(t, *levels[k]) for k in range(len(times) - 1) for t in (times[k], times[k + 1])]
        signals = np.array(rows, dtype=[("time", float), *((name, float) for name in names)])
    result = simulate_fmu(job["fmu"], stop_time=times[-1], output_interval=times[1], input=signals,
                          relative_tolerance=job["tolerance"], output=job["identifiers"])  # fmt: skip
    return np.column_stack([result[name] for name in job["identifiers"]])[1:]


def libcosim(job: Job) -> Values:
    """libcosim with its fixed-step algorithm; inputs by an override manipulator."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    execution = CosimExecution.from_step_size(round(job["times"][1] * 1e9))
    slave = execution.add_local_slave(CosimLocalSlave(fmu_path=job["fmu"], instance_name="judged"))
    observer, manipulator = CosimObserver.create_last_value(), CosimManipulator.create_override()
    assert execution.add_observer(observer)
    assert execution.add_manipulator(manipulator)
    references = [i["reference"] for i in job["inputs"]]
    for i in job["inputs"]:
        assert execution.real_initial_value(slave, i["reference"], i["values"][0])
    rows = []
    for k in range(len(job["times"]) - 1):
        if references:
            values = [i["values"][k] for i in job["inputs"]]
            assert manipulator.slave_real_values(slave, references, values)
        assert execution.step(), execution.status()
        rows.append(list(observer.last_real_values(slave, job["references"])))
    return np.array(rows)


def ecos(job: Job) -> Values:
    """ecos, reading and setting by name."""
    from ecospy import EcosSimulation, EcosSimulationStructure
    from ecospy.EcosParameterSet import EcosParameterSet

    structure = EcosSimulationStructure()
    structure.add_model("judged", job["fmu"])
    parameters = EcosParameterSet()
    for i in job["inputs"]:
        parameters.add_real(f"judged::{i['name']}", i["values"][0])
    structure.add_parameter_set("first", parameters)
    rows = []
    with EcosSimulation(job["times"][1], structure=structure) as simulation:
        simulation.init(parameter_set="first")
        for k in range(len(job["times"]) - 1):
            for i in job["inputs"]:
                simulation.set_real(f"judged::{i['name']}", i["values"][k])
            simulation.step()
            rows.append([simulation.get_real(f"judged::{name}") for name in job["identifiers"]])
        simulation.terminate()
    return np.array(rows)


MASTERS: dict[str, Callable[[Job], Values]] = {"fmpy": fmpy, "libcosim": libcosim, "ecos": ecos}
PACKAGES = {"fmpy": "fmpy", "libcosim": "libcosimpy", "ecos": "ecospy"}


def main() -> None:
    master, job, result = sys.argv[1:]
    with open(job, encoding="utf-8") as file:
        np.savez(result, values=MASTERS[master](json.load(file)))


if __name__ == "__main__":
    main()
