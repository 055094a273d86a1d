"""HHT and its relatives on one mechanism: steps, error, open velocities, and the scheme's own reactions.

What a simulation reports is projected and right for all of them. What differs is the state that the scheme itself goes
on with: with index 2 it meets the constraints of velocities, and its reactions are right.
"""

import numpy as np

import mbdfmu as mbd

T_END = 1.0  # s
MEMBERS = (
    ("hht", {}),
    ("hht", {"index": 2}),
    ("generalised-alpha", {"rho": 0.8}),
    ("generalised-alpha", {"rho": 0.8, "index": 2}),
    ("trapezoidal", {}),
    ("newmark", {"gamma": 0.6, "beta": 0.3025}),
)


def open_velocities_and_reactions(model: mbd.Model, simulation: mbd.analyses.Simulation) -> tuple[float, float]:
    """|G v + Phi_t|, and how far lam is from that of the index-1 system, over its size."""
    s, own = model.compile(), simulation.save()
    speed, gamma = s.rates(own.t, own.q, own.v)
    at_rest = own.t, own.q, own.v, np.zeros(s.nv), np.zeros(s.nc)
    forces = s.residual(*at_rest)[: s.nv]  # what is left of the residual is -Q
    lam = np.linalg.solve(s.jacobian(*at_rest).toarray(), np.concatenate([-forces, gamma]))[s.nv :]
    return float(np.max(np.abs(speed))), float(np.max(np.abs(own.lam - lam)) / np.max(np.abs(lam)))


def main() -> None:
    model = mbd.models.load("slider_crank")
    exact = model.simulate(T_END, T_END, tolerance=1e-10)["crank.phi"][-1]
    print(f"{'scheme':42}{'order':>6}{'steps':>7}{'iterations':>11}{'error':>10}{'velocities':>11}{'reactions':>10}")
    for name, options in MEMBERS:
        simulation = model.start(scheme=name, options=options, tolerance=1e-6)
        simulation.advance(T_END)
        order = mbd.schemes.Scheme.named(name).from_options(options).order_with_options
        count = simulation.statistics
        speed, reaction = open_velocities_and_reactions(model, simulation)
        label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
        error = abs(simulation["crank.phi"] - exact)
        print(
            f"{label:42}{order:6}{count['steps']:7}{count['iterations']:11}{error:10.1e}{speed:11.1e}{reaction:10.1e}"
        )


if __name__ == "__main__":
    main()
