"""A slider-crank as Modelica text: components of the standard library, its equations, the interface of its FMU.

The equations are run by another compiler where one is installed.

rumoca (extra [test]) is a compiler and simulator of Modelica; without it the texts are written all the same.
"""

from importlib.util import find_spec
from pathlib import Path

import mbdfmu as mbd

END = 1.0


def run_elsewhere(text: str) -> float:
    """The angle of the crank at the end, from the text alone; the motor stands still."""
    import rumoca

    whole = f"{text}\nmodel Driven\n  slider_crank mechanism(torque=0);\nend Driven;\n"
    config = rumoca.SimConfig(rtol=1e-9, atol=1e-10, solver="rk-like")
    result = rumoca.Session().loads(whole, model="Driven").simulate(t=(0, END), dt=END / 20, config=config)
    return float(result["mechanism.angle"][-1])


def main() -> None:
    model = mbd.models.load("slider_crank")
    path = model.export_modelica("slider_crank.mo", "equations")
    model.export_modelica("slider_crank_fmu.mo", "wrapper")
    parts = model.export_modelica("slider_crank_parts.mo").read_text(encoding="utf-8")
    joints, connections = (parts.count(word) for word in ("MultiBody.Joints.", "connect("))
    print(f"with the Modelica Standard Library: {joints} joints, {connections} connections")
    text = Path(path).read_text(encoding="utf-8")
    print(f"{path.name}: {len(text.splitlines())} lines, such as")
    print("\n".join(line for line in text.splitlines() if "crank_alpha*" in line))
    here = model.simulate(END, END / 20, scheme="dop853", tolerance=1e-10)["angle"][-1]
    print(f"crank after {END:g} s, simulated here   {here:.8f} rad")
    if find_spec("rumoca"):
        print(f"crank after {END:g} s, from the equations {run_elsewhere(text):.8f} rad")


if __name__ == "__main__":
    main()
