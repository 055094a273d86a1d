"""A loaded car settles on its springs, against the closed form, and meets a bump without bouncing before it.

The drawing shows the springs unloaded. How far they give under a load in the trunk follows from two moments; here the
model finds it by each of three methods, and the run starts there. What the bump gives the car and what the dampers
take is in the power balance.
"""

import numpy as np

import mbdfmu as mbd
from mbdfmu.forces import Translational
from mbdfmu.joints import Fixed, PointOnLine

MASS, LOAD, GRAVITY = 1200.0, 250.0, 9.81  # kg, kg, m/s2
FRONT, REAR, TRUNK = 1.3, -1.4, -1.9  # m, along the car
STIFFNESS, DAMPING, HEIGHT = 4e4, 3e3, 0.6  # of each axle; of the unloaded car
SPEED, BUMP = 15.0, 0.06  # m/s, m


def car(load: float) -> mbd.Model:
    """The car stands in its place and the road passes below it: its bump lifts the springs' feet."""
    model = mbd.Model("car", gravity=(0, -GRAVITY), energy_balance=True)
    model.add("car", mbd.Body(mass=MASS, inertia=1800, position=(0, HEIGHT)))
    model.add("trunk", mbd.Body(mass=load, inertia=10, position=(TRUNK, HEIGHT)))
    model.add("lid", Fixed(i={"body": "car", "at": (TRUNK, 0)}, j={"body": "trunk"}))
    model.add("place", PointOnLine(i={"body": "ground"}, j={"body": "car"}, axis=(0, 1)))
    for name, x in (("front", FRONT), ("rear", REAR)):
        ends = {"i": {"body": "ground", "at": (x, road(x))}, "j": {"body": "car", "at": (x, 0)}}
        law = {"axis": (0, 1), "stiffness": STIFFNESS, "damping": DAMPING, "free_length": HEIGHT}
        model.add(name, Translational(**ends, **law))
    return model


def road(x: float) -> str:
    """Height below a place of the car: up within 0.1 s and down again, later at the rear."""
    t = 1 - x / SPEED
    return f"{BUMP}*havsin(time, {t}, 0, {t + 0.1}, 1)*havsin(time, {t + 0.1}, 1, {t + 0.2}, 0)"


def closed_form() -> dict[str, float]:
    """What each axle carries, by the moments about the other."""
    rear = GRAVITY * (MASS * FRONT + LOAD * (FRONT - TRUNK)) / (FRONT - REAR)
    return {"rear": rear, "front": GRAVITY * (MASS + LOAD) - rear}


def main() -> None:
    model = car(LOAD)
    rest = model.equilibrium()
    for name, load in closed_form().items():
        print(f"{name:6}{rest[f'{name}.force']:10.3f} N, closed form {load:10.3f} N")
    print(f"at rest after {rest.steps} steps, largest acceleration left {rest.residual:.0e}")
    for method in ("equations", "energy"):
        other = model.equilibrium(method=method)
        print(f"by {method:9} after {other.steps} steps, {abs(other['car.y'] - rest['car.y']):.0e} m away")
    for start in (None, "equilibrium"):
        result = model.simulate(t_end=2.5, step_output=0.005, start=start, tolerance=1e-7)
        before = np.ptp(result["car.y"][result.time < 0.9])
        largest, drift = np.ptp(result["energy.kinetic"]), np.ptp(result["energy.balance"])
        print(f"{start or 'as drawn':12} bounces by {before:.0e} m before the bump; ", end="")
        print(f"of {largest:.0f} J kinetic energy, {drift:.2f} J not accounted for")


if __name__ == "__main__":
    main()
