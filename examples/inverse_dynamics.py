"""Computed torque: the torques that make a robot move as planned, and how near a simulation with them comes."""

import numpy as np

import mbdfmu as mbd
from mbdfmu.forces import Rotational
from mbdfmu.joints import Revolute

JOINTS = {"base": ("ground", "turret"), "shoulder": ("turret", "upper"), "elbow": ("upper", "lower")}
END, POINTS = 2.0, 1601  # s
GOAL = {"base": 1.0, "shoulder": -0.8, "elbow": 1.5}  # rad


def robot() -> mbd.Model:
    """A turret with an arm of two links; a motor in each joint, whose torque is an input."""
    model = mbd.Model("robot", dimensions=3, gravity=(0, 0, -9.81))
    upper = mbd.Rod(start=(0, 0, 0), end=(0.6, 0, 0), radius=0.04, mass=8)
    lower = mbd.Rod(start=(0, 0, 0), end=(0.5, 0, 0), radius=0.03, mass=4)
    model.add("turret", mbd.Body(shapes=(mbd.Cylinder(radius=0.1, length=0.3, mass=20),)))
    model.add("upper", mbd.Body(shapes=(upper,)))
    model.add("lower", mbd.Body(position=(0.6, 0, 0), shapes=(lower,)))
    places = {"base": (0, 0, 0), "shoulder": (0, 0, 0), "elbow": (0.6, 0, 0)}
    for name, (i, j) in JOINTS.items():
        axis = (0, 0, 1) if name == "base" else (0, 1, 0)
        ends = {"i": {"body": i, "at": places[name]}, "j": {"body": j}, "axis": axis}
        model.add(name, Revolute(**ends))
        model.add(f"{name}_torque", mbd.Input(unit="N.m"))
        model.add(f"{name}_motor", Rotational(torque=f"{name}_torque", damping=2, **ends))
    return model


def planned(time: np.ndarray) -> dict[str, np.ndarray]:
    """From rest to rest, smooth up to the third derivative."""
    s = time / END
    way = s**4 * (35 - 84 * s + 70 * s**2 - 20 * s**3)
    return {f"{name}.angle": angle * way for name, angle in GOAL.items()}


def main() -> None:
    model, time = robot(), np.linspace(0, END, POINTS)
    plan = planned(time)
    torques = [f"{name}_torque" for name in JOINTS]
    found = model.inverse_dynamics({"time": time, **plan}, actuators=torques)
    for torque in torques:
        print(f"{torque:15} from {min(found[torque]):8.3f} to {max(found[torque]):8.3f} N.m")
    inputs = {torque: (time, found[torque]) for torque in torques}
    run = model.simulate(END, END / 100, inputs=inputs, tolerance=1e-9)
    for name in JOINTS:
        gap = max(abs(run[f"{name}.angle"] - np.interp(run.time, time, plan[f"{name}.angle"])))
        print(f"{name:15} moves as planned but for {gap:.1e} rad")


if __name__ == "__main__":
    main()
