"""A control loop in plain Python: a PI controller brings a crank to speed while gravity and the slider disturb it."""

import mbdfmu as mbd

TARGET = 10.0  # rad/s
PROPORTIONAL, INTEGRAL = 2.0, 5.0  # N.m.s/rad, N.m/rad
STEP, DURATION = 1e-3, 4.0  # s


def run() -> dict[str, list[float]]:
    """Time, speed and torque at every step of the controller."""
    sim = mbd.models.load("slider_crank").start()
    history: dict[str, list[float]] = {"time": [], "speed": [], "torque": []}
    memory = 0.0
    for _ in range(round(DURATION / STEP)):
        error = TARGET - sim["crank.omega"]
        memory += error * STEP
        sim["torque"] = PROPORTIONAL * error + INTEGRAL * memory
        sim.step(STEP)
        for name, value in (("time", sim.time), ("speed", sim["crank.omega"]), ("torque", sim["torque"])):
            history[name].append(value)
    return history


def plot(history: dict[str, list[float]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("matplotlib is not installed: no picture")
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(history["time"], history["speed"])
    upper.axhline(TARGET, linestyle=":", color="black")
    upper.set_ylabel("crank speed [rad/s]")
    lower.plot(history["time"], history["torque"])
    lower.set(ylabel="torque [N.m]", xlabel="time [s]")
    figure.savefig("pi_loop.png")
    print("wrote pi_loop.png")


def main() -> None:
    history = run()
    turns = history["speed"][-1300:]  # the last two, in which the disturbance repeats
    mean, time = sum(turns) / len(turns), history["time"][-1]
    print(f"t = {time:.1f} s: {mean:.2f} rad/s in the mean, from {min(turns):.2f} to {max(turns):.2f}")
    plot(history)


if __name__ == "__main__":
    main()
