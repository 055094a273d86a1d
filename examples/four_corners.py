"""Four corners of a vehicle from one suspension file: two as they are, two mirrored, and a check that they are images.

A bump passes under the left front wheel, then, in a second run, the same bump under the right one. The second motion
has to be the mirror image of the first: the vehicle's y, roll and yaw change their signs, all else stays.
"""

from pathlib import Path

import numpy as np

import mbdfmu as mbd

CORNER = str(Path(__file__).with_name("corner.json"))
AXLES = {"front": 1.7, "rear": -0.9}  # m, place of the arms' hinges along the vehicle
BUMP = ([0.0, 2.0, 2.03, 2.06, 3.0], [0.0, 0.0, 0.03, 0.0, 0.0])  # s, m
EVEN, ODD = ("x", "z", "pitch"), ("y", "roll", "yaw")


def vehicle() -> mbd.Model:
    """A box on four corners; what is left comes from the file, what is right is its image in the plane y = 0."""
    model = mbd.Model("vehicle", dimensions=3, gravity=(0, 0, -9.81))
    model.add("spring", mbd.Parameter(value=40000, unit="N/m", min=0, text="of each strut"))
    box = mbd.Box(size=(4, 0.8, 0.6), at=(0, 0, 0.2), color="#bbbbbb")
    model.add("car", mbd.Body(mass=1200, inertia=(300, 1600, 1700), position=(0, 0, 0.55), shapes=(box,)))
    for axle, x in AXLES.items():
        common = {
            "file": CORNER,
            "position": (x, 0, 0),
            "attach": {"chassis": "car"},
            "parameters": {"stiffness": "spring"},
        }
        model.add(f"{axle}_left", mbd.Submodel(**common))
        model.add(f"{axle}_right", mbd.Submodel(**common, mirror="y"))
    return model


def run(model: mbd.Model, wheel: str) -> mbd.Result:
    return model.simulate(t_end=3, step_output=0.01, inputs={f"{wheel}.road": BUMP}, tolerance=1e-7)


def main() -> None:
    model = vehicle()
    left, right = run(model, "front_left"), run(model, "front_right")
    late = left.time > 1.9
    print(f"bump on the left: the car heaves {1e3 * np.ptp(left['car.z'][late]):.1f} mm, "
          f"rolls {np.degrees(np.ptp(left['car.roll'][late])):.2f} degrees")  # fmt: skip
    for names, sign in ((EVEN, 1), (ODD, -1)):
        for name in names:
            gap = np.max(np.abs(right[f"car.{name}"] - sign * left[f"car.{name}"]))
            print(f"  car.{name:6} is {'the same' if sign > 0 else 'reversed'} on the right, to {gap:.0e}")
    travel = np.max(np.abs(left["front_left.travel"] - right["front_right.travel"]))
    print(f"  the arm under the bump travels alike, to {travel:.0e} rad")


if __name__ == "__main__":
    main()
