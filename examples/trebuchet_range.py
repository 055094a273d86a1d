"""How far a trebuchet throws: events let go of the sling and find where the stone lands.

    python examples/trebuchet_range.py
"""

import math

import mbdfmu as mbd


def thrown(model: mbd.Model, aim: float) -> tuple[float, float]:
    """Where and when the stone lands that leaves in a direction (degrees)."""
    sim = model.start(parameters={"aim": math.radians(aim)})
    while not any(name == "trough" and time > 1 for time, name in sim.events):
        sim.step(0.01)
    return sim["stone.x"], sim.events[-1][0]


def main() -> None:
    model = mbd.models.load("trebuchet")
    for aim in (20, 30, 40, 50, 60):
        distance, time = thrown(model, aim)
        print(f"let go at {aim} degrees: {distance:6.1f} m in {time:.2f} s")


if __name__ == "__main__":
    main()
