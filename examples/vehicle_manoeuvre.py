"""A car steers and brakes: first on dry road, then with its left wheels on ice, and what its wheels do meanwhile.

`python examples/vehicle_manoeuvre.py --plot manoeuvre.png` draws speeds and yaw rates (needs matplotlib).
"""

import argparse

import numpy as np

import mbdfmu as mbd

WHEELS = ("front_left", "front_right", "rear_left", "rear_right")
TORQUES = {"front": 800.0, "rear": 400.0}  # N.m at each wheel
STEER = ([0, 0.5, 0.7, 1.5, 1.7], [0, 0, 0.004, 0.004, 0])  # s, m of the rack
ICE = "if({y} > 0, 0.2, 1)"  # friction of the road at the place of a wheel, its left half is ice


def run(friction: str, steer: bool) -> mbd.Result:
    """At 25 m/s, steer to the left and back if asked to, then brake with the wheels as they are."""
    model = mbd.models.load("full_vehicle", friction=friction)
    inputs = {f"{wheel}.brake": ([0, 2, 2.1], [0, 0, TORQUES[wheel.split("_")[0]]]) for wheel in WHEELS}
    inputs |= {"rack": STEER} if steer else {}
    names = ["*_slip", "speed_ahead", "yaw_rate", "roll", "car.*"]
    return model.simulate(t_end=4, step_output=0.005, inputs=inputs, parameters={"speed": 25}, record=names)


def report(name: str, result: mbd.Result) -> None:
    """What happened before and after the brakes."""
    turning = result.time <= 2
    rate, roll = (np.degrees(np.max(np.abs(result[key][turning]))) for key in ("yaw_rate", "roll"))
    turned = np.degrees(result["car.yaw"][-1] - result["car.yaw"][turning][-1])
    slips = ", ".join(f"{wheel} {np.min(result[f'{wheel}_slip'][~turning]):.2f}" for wheel in WHEELS)
    print(f"{name}: while steered, yaw rate up to {rate:.1f} degrees/s, roll up to {roll:.1f} degrees")
    print(f"  while braked, speed down to {result['speed_ahead'][-1]:.1f} m/s, heading off by {turned:.0f} degrees")
    print(f"  least slips, -1 is locked: {slips}")


def plot(results: dict[str, mbd.Result], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (speeds, rates) = plt.subplots(2, sharex=True, figsize=(8, 6))
    for name, result in results.items():
        speeds.plot(result.time, result["speed_ahead"], label=name)
        rates.plot(result.time, np.degrees(result["yaw_rate"]), label=name)
    speeds.set_ylabel("speed [m/s]")
    rates.set_ylabel("yaw rate [degrees/s]")
    rates.set_xlabel("time [s]")
    speeds.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plot", metavar="FILE", help="draw speeds and yaw rates")
    arguments = parser.parse_args()
    results = {"dry road": run("1", steer=True), "left wheels on ice": run(ICE, steer=False)}
    for name, result in results.items():
        report(name, result)
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
