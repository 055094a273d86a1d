"""The modes of a quarter car against the textbook, and how it answers to the road: a Bode plot and a step.

The linear model comes from the exact derivatives of the model at rest; the textbook writes the two masses by hand.
"""

import numpy as np

import mbdfmu as mbd

BODY, WHEEL = 360.0, 40.0  # kg
SPRING, DAMPER = 22000.0, 1600.0  # N/m, N.s/m
TYRE, TYRE_DAMPER = 200000.0, 100.0


def textbook() -> np.ndarray:
    """Eigenvalues of the two masses, those above the real axis."""
    mass = np.diag([BODY, WHEEL])
    stiffness = np.array([[SPRING, -SPRING], [-SPRING, SPRING + TYRE]])
    damping = np.array([[DAMPER, -DAMPER], [-DAMPER, DAMPER + TYRE_DAMPER]])
    free = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), free]))
    return np.array(sorted(values[values.imag > 0], key=abs))


def main() -> None:
    linear = mbd.models.load("quarter_car").linearize(outputs=["height_of_body", "height_of_wheel", "acceleration"])
    print("states:", ", ".join(linear.states), " inputs:", ", ".join(linear.inputs))
    for mode, value in zip((m for m in linear.modes if m.oscillates), textbook(), strict=True):
        mover = max(mode.moves, key=lambda name: abs(mode.moves[name]))
        print(f"{mode.frequency:8.4f} Hz, damping ratio {mode.damping:.4f}, moves {mover}; ", end="")
        print(f"textbook {abs(value) / (2 * np.pi):8.4f} Hz, {-value.real / abs(value):.4f}")
    frequencies = np.logspace(-1, 2, 400)
    gain = np.abs(linear.response(frequencies, "height_of_body", "road"))
    print(f"the body goes {gain.max():.2f} times as high as the road at {frequencies[gain.argmax()]:.2f} Hz")
    times = np.linspace(0, 2, 201)
    rise = linear.step_response(times, "height_of_body", "road")
    print(f"on a curb it overshoots by {100 * (rise.max() - 1):.0f} %")
    linear.write("quarter_car_linear.json")
    try:
        linear.plot_bode("height_of_body", "road", frequencies=frequencies, path="linearize_quarter_car.png")
    except ImportError as missing:
        print(missing)


if __name__ == "__main__":
    main()
