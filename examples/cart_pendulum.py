"""What the lag of an actuator costs: a cart balances a pole that is pushed, with faster and slower actuators."""

import mbdfmu as mbd

LAGS = (0.02, 0.05, 0.1, 0.2)  # s
PUSH, SHORT = 2.0, 0.1  # N for so many s, on the tip of the pole
FALLEN = 1.0  # rad


def pushed(lag: float) -> tuple[float, float, float]:
    """The largest lean, the largest force, and the lean that is left after 4 s."""
    sim = mbd.models.load("cart_pendulum").start(parameters={"lag": lag})
    sim["target"] = 0.0
    sim["push"] = PUSH
    leans, forces = [], []
    while sim.time < 4.0:
        sim.step(0.01)
        if sim.time > SHORT:
            sim["push"] = 0.0
        leans.append(abs(sim["lean"]))
        forces.append(abs(sim["drive.force"]))
        if leans[-1] > FALLEN:
            break
    return max(leans), max(forces), leans[-1]


def main() -> None:
    for lag in LAGS:
        largest, force, left = pushed(lag)
        end = "falls" if left > FALLEN else f"leans by {left:.3f} rad after 4 s"
        print(f"lag {lag:.2f} s: leans by up to {largest:.2f} rad, force up to {force:.0f} N, {end}")


if __name__ == "__main__":
    main()
