"""Welch's parameter-free schemes on a pendulum of three links in space: errors and gaps over the step size.

Halving the step takes an error of first order to a half and one of second order to a quarter. The corrector of the
paper sees the half-step velocity of the predictor, which lacks what is normal to the joints: with the gyroscopic torque
of bodies in space that costs an order.
"""

import mbdfmu as mbd

T_END = 0.5  # s
RUNS = (("welch1", {}), ("welch2", {"form": "printed"}), ("welch2", {"form": "corrected"}))


def main() -> None:
    model = mbd.models.load("pendulum3d")
    exact = model.simulate(T_END, T_END, scheme="dopri5", tolerance=1e-10)["link3.x"][-1]
    print(f"{'scheme':20}{'step':>9}{'error':>11}{'worst gap':>11}")
    for name, options in RUNS:
        for step in (2e-3, 1e-3, 5e-4):
            simulation = model.start(scheme=name, options=options, step=step)
            simulation.advance(T_END)
            gap = simulation.statistics["worst_position_violation"]  # over the model's length
            label = " ".join([name, *options.values()])
            print(f"{label:20}{step:9.1e}{abs(simulation['link3.x'] - exact):11.1e}{gap:11.1e}")
    simulation = model.start(scheme="welch2", tolerance=1e-6)  # error control counts gaps as errors
    simulation.advance(T_END)
    error, gap = abs(simulation["link3.x"] - exact), simulation.statistics["worst_position_violation"]
    steps = simulation.statistics["steps"]
    print(f"welch2 with error control at 1e-6: {steps} steps, error {error:.1e}, gap {gap:.1e}")


if __name__ == "__main__":
    main()
