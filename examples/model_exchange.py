"""A slider-crank in the hands of another integrator: FMPy's CVode turns it through its dead points.

The FMU for model exchange gives derivatives and event indicators; the environment steps. Joints stay closed although
CVode knows nothing of them, and the ball's bounces are found by its indicator.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import fmpy
import numpy as np

import mbdfmu as mbd

with tempfile.TemporaryDirectory() as folder:
    crank = mbd.models.load("slider_crank").export_fmu(Path(folder) / "crank.fmu", interface="me2")
    rows = fmpy.simulate_fmu(
        str(crank), stop_time=2.0, solver="CVode", relative_tolerance=1e-8, fmi_type="ModelExchange",
        start_values={"crank.omega.start": 14.0}, output=["angle", "stroke", "crank.x", "crank.phi"],
    )  # fmt: skip
    best = mbd.models.load("slider_crank").simulate(
        t_end=2.0, step_output=2.0, scheme="dop853", tolerance=1e-11, start={"crank.omega": 14.0}
    )
    print(f"turns after 2 s: {rows['angle'][-1] / 6.283185307179586:.6f}")
    print(f"stroke, CVode against dop853: {abs(rows['stroke'][-1] - best['stroke'][-1]):.1e} m")
    gap = max(abs(rows["crank.x"] - 0.1 * np.cos(rows["crank.phi"])))
    print(f"the shaft opened by {gap:.1e} m at most")

    ball = mbd.models.load("bouncing_ball").export_fmu(Path(folder) / "ball.fmu", interface="me2")
    rows = fmpy.simulate_fmu(str(ball), stop_time=5.0, output=["gap", "force"], fmi_type="ModelExchange")
    print(f"the ball rests at a gap of {rows['gap'][-1]:.1e} m, on {rows['force'][-1]:.3f} N")
