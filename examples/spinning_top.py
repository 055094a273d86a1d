"""A spinning top in steady precession, against the closed form: how fast the axis goes round, and that it does not nod.

A symmetric top of moments I (across, about the tip) and J (along the axis), tilted by theta, spins with s along its
axis. Its axis goes round at the constant speed W, without nodding, if

    I cos(theta) W^2 - J s W + m g l = 0.

The error falls with the power 2/3 of the tolerance, as that of any model.
"""

import math

import numpy as np

import mbdfmu as mbd

DISC, RADIUS, THICKNESS, HEIGHT = 0.5, 0.1, 0.02, 0.08  # kg, m, m; the centre above the tip, m
TILT, SPIN, GRAVITY = math.radians(30), 80.0, 9.81  # rad, rad/s, m/s2
T_END = 2.0  # s


def precession() -> float:
    """The slow solution of the equation above."""
    across = DISC * (RADIUS**2 / 4 + THICKNESS**2 / 12 + HEIGHT**2)
    momentum, moment = DISC * RADIUS**2 / 2 * SPIN, DISC * GRAVITY * HEIGHT
    root = math.sqrt(momentum**2 - 4 * across * math.cos(TILT) * moment)
    return (momentum - root) / (2 * across * math.cos(TILT))


def top(speed: float) -> mbd.Model:
    """The body's frame lies in the tip; its mass, centre of mass and inertia follow from the shape."""
    disc = mbd.Cylinder(radius=RADIUS, length=THICKNESS, at=(0, 0, HEIGHT), mass=DISC)
    omega = (-speed * math.sin(TILT), 0, SPIN)  # body axes; SPIN holds what the precession adds
    tilted = mbd.Orientation(axis=(0, 1, 0), angle=TILT)
    model = mbd.Model("top", dimensions=3, gravity=(0, 0, -GRAVITY))
    model.add("top", mbd.Body(shapes=(disc,), orientation=tilted, omega=omega))
    model.add("tip", mbd.joints.Spherical(i={"body": "ground"}, j={"body": "top"}))
    return model


def main() -> None:
    speed = precession()
    model = top(speed)
    print(f"closed form: {speed:.6f} rad/s")
    for tolerance in (1e-5, 1e-6, 1e-7, 1e-8):
        result = model.simulate(t_end=T_END, step_output=0.01, tolerance=tolerance)
        turned = np.unwrap(np.arctan2(result["top.cm.y"], result["top.cm.x"]))
        nods = np.ptp(np.arccos(result["top.cm.z"] / HEIGHT))
        found, steps = turned[-1] / T_END, result.statistics["steps"]
        print(f"tolerance {tolerance:.0e}: {found:.6f} rad/s, nods by {nods:.0e} rad, {steps} steps")


if __name__ == "__main__":
    main()
