"""A folder of FMUs as a regression suite: record references, change a model, see which signals moved and how far."""

from pathlib import Path

import mbdfmu as mbd
from mbdfmu.forces import Rotational
from mbdfmu.regression import cases, judge, record, write_report
from mbdfmu.regression.story import Conditions


def main() -> None:
    folder = Path("fmus")
    folder.mkdir(exist_ok=True)
    Path("torque.csv").write_text("time [s],torque [N.m]\n0,0\n0.5,6\n0.5,0\n1,0\n", encoding="utf-8")
    inputs = {"pendulum": "torque.csv", "slider_crank": "torque.csv", "double_pendulum": None}
    for name, table in inputs.items():
        fmu = mbd.models.load(name).export_fmu(folder / f"{name}.fmu")
        record(fmu, conditions=Conditions(t_end=1.0, step=0.01), inputs=table, replace_old=True)
    print(f"recorded {len(inputs)} references; `pytest --fmus {folder}` runs them as tests")

    # Months later somebody greases the hinge of the pendulum.
    changed = mbd.models.load("pendulum")
    changed.add("grease", Rotational(i=mbd.Marker(body="ground"), j=mbd.Marker(body="bar"), damping=0.05))
    changed.export_fmu(folder / "pendulum.fmu")

    verdicts = [judge(case) for fmu in sorted(folder.glob("*.fmu")) for case in cases(fmu)]
    for verdict in verdicts:
        print(verdict.report())
    write_report("report.html", verdicts, "FMUs after the change")
    print("wrote report.html")


if __name__ == "__main__":
    main()
