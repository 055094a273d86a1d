"""Runs FMUs in one of the masters that others have written, in a process of its own; must not know mbdfmu.

    python masters.py MASTER JOB.json RESULT.npz

The job: `fmus` (name and file), `connections` (pairs of outputs and inputs), `inputs` with a value for every step,
`record`, `times` of the communication points, evenly spaced, and the `tolerance` that fmpy is told. A variable is an
`fmu`, a `name` and a `reference`. With `structure`, libcosim takes FMUs, connections and the step from that system
structure file of OSP. The result: `values`, a row after every step.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Job = dict[str, Any]
Values = NDArray[np.float64]


def fmpy(job: Job) -> Values:
    """The loop of fmpy.simulate_fmu with inputs that are held: a row before and one behind every jump; one FMU."""
    from fmpy import simulate_fmu

    (file,) = job["fmus"].values()
    times = np.array(job["times"])
    names, wanted = [i["name"] for i in job["inputs"]], [v["name"] for v in job["record"]]
    levels = np.array([i["values"] for i in job["inputs"]]).T
    signals = None
    if names:
        rows = [(t, *levels[k]) for k in range(len(times) - 1) for t in (times[k], times[k + 1])]
        signals = np.array(rows, dtype=[("time", float), *((name, float) for name in names)])
    result = simulate_fmu(file, stop_time=times[-1], output_interval=times[1], input=signals,
                          relative_tolerance=job["tolerance"], output=wanted)  # fmt: skip
    return np.column_stack([result[name] for name in wanted])[1:]


def libcosim(job: Job) -> Values:
    """libcosim with its fixed-step algorithm; inputs by an override manipulator."""
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver

    execution, slaves = _from_file(job) if "structure" in job else _from_parts(job)
    observer, manipulator = CosimObserver.create_last_value(), CosimManipulator.create_override()
    assert execution.add_observer(observer)
    assert execution.add_manipulator(manipulator)
    for i in job["inputs"]:
        assert execution.real_initial_value(slaves[i["fmu"]], i["reference"], i["values"][0])
    rows = []
    for k in range(len(job["times"]) - 1):
        for i in job["inputs"]:
            assert manipulator.slave_real_values(slaves[i["fmu"]], [i["reference"]], [i["values"][k]])
        assert execution.step(), execution.status()
        found = {name: iter(observer.last_real_values(slaves[name], _references(job, name))) for name in slaves}
        rows.append([next(found[v["fmu"]]) for v in job["record"]])
    return np.array(rows)


def _references(job: Job, fmu: str) -> list[int]:
    return [v["reference"] for v in job["record"] if v["fmu"] == fmu]


def _from_parts(job: Job) -> tuple[Any, dict[str, int]]:
    """An execution, and the indices of its slaves."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimSlave import CosimLocalSlave

    execution = CosimExecution.from_step_size(round(job["times"][1] * 1e9))
    slaves = {name: execution.add_local_slave(CosimLocalSlave(fmu_path=file, instance_name=name))
              for name, file in job["fmus"].items()}  # fmt: skip
    for source, target in job["connections"]:
        done = execution.connect_real_variables(slaves[source["fmu"]], source["reference"],
                                                slaves[target["fmu"]], target["reference"])  # fmt: skip
        assert done == 0, (source, target)
    return execution, slaves


def _from_file(job: Job) -> tuple[Any, dict[str, int]]:
    from libcosimpy.CosimExecution import CosimExecution

    execution = CosimExecution.from_osp_config_file(job["structure"])
    return execution, {name: execution.slave_index_from_instance_name(name) for name in job["fmus"]}


def ecos(job: Job) -> Values:
    """ecos, reading and setting by name."""
    from ecospy import EcosSimulation, EcosSimulationStructure
    from ecospy.EcosParameterSet import EcosParameterSet

    structure = EcosSimulationStructure()
    for name, file in job["fmus"].items():
        structure.add_model(name, file)
    for source, target in job["connections"]:
        structure.make_real_connection(_name(source), _name(target))
    parameters = EcosParameterSet()
    for i in job["inputs"]:
        parameters.add_real(_name(i), i["values"][0])
    structure.add_parameter_set("first", parameters)
    rows = []
    with EcosSimulation(job["times"][1], structure=structure) as simulation:
        simulation.init(parameter_set="first")
        for k in range(len(job["times"]) - 1):
            for i in job["inputs"]:
                simulation.set_real(_name(i), i["values"][k])
            simulation.step()
            rows.append([simulation.get_real(_name(v)) for v in job["record"]])
        simulation.terminate()
    return np.array(rows)


def _name(variable: dict[str, Any]) -> str:
    """As ecos calls it."""
    return f"{variable['fmu']}::{variable['name']}"


MASTERS: dict[str, Callable[[Job], Values]] = {"fmpy": fmpy, "libcosim": libcosim, "ecos": ecos}
PACKAGES = {"fmpy": "fmpy", "libcosim": "libcosimpy", "ecos": "ecospy"}
# When k steps of size h have been made: libcosim counts nanoseconds, ecos adds up.
CLOCKS: dict[str, Callable[[int, float], float]] = {
    "libcosim": lambda k, h: k * round(h * 1e9) / 1e9,
    "ecos": lambda k, h: sum([h] * k, 0.0),
}


def run(master: str, job: Job, folder: Path) -> Values:
    """A process of its own, so that a crash is a failure of one test alone; a test is skipped without the master."""
    import pytest

    if importlib.util.find_spec(PACKAGES[master]) is None:
        pytest.skip(f"{PACKAGES[master]} is not installed; the extra [judges] has it")
    file, result = folder / "job.json", folder / "result.npz"
    file.write_text(json.dumps(job))
    command = [sys.executable, __file__, master, str(file), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    if "libtbb" in done.stderr:
        pytest.skip("ecos needs the system's libtbb12, which is not installed")
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]
    values: Values = np.load(result)["values"]
    return values


def main() -> None:
    master, job, result = sys.argv[1:]
    with open(job, encoding="utf-8") as file:
        np.savez(result, values=MASTERS[master](json.load(file)))


if __name__ == "__main__":
    main()
