"""Drive a model by a table: a torque over time from a CSV file, the answer to another one and to a picture."""

import csv
import math

import mbdfmu as mbd

# A time given twice is a jump; between the rows the torque is linear.
TORQUE = [(0.0, 0.0), (0.5, 6.0), (1.0, 6.0), (1.0, 0.0), (1.5, 0.0), (1.5, -2.0), (2.5, -2.0)]


def main() -> None:
    with open("torque.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time [s]", "torque [N.m]"])
        writer.writerows(TORQUE)

    model = mbd.models.load("slider_crank")
    result = model.simulate(
        t_end=2.5,
        step_output=0.01,
        inputs="torque.csv",
        parameters={"friction": 0.05},
        record=["torque", "angle", "speed", "motor.power"],
    )
    result.to_csv("answer.csv")
    turns, speed = result["angle"][-1] / math.tau, result["speed"][-1]
    print(f"t = {result.time[-1]} s: {turns:.2f} turns, {speed:.2f} {result.unit('speed')}; wrote answer.csv")
    try:
        result.plot("torque", "speed", "motor.power", path="inputs_from_csv.png")
        print("wrote inputs_from_csv.png")
    except ImportError as missing:
        print(f"no picture: {missing}")


if __name__ == "__main__":
    main()
