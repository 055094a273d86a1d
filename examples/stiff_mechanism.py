"""A stiff mechanism in its one independent coordinate: long steps, closed joints, and what a full Jacobian saves.

Andrews' mechanism with a damper far stronger than its motion needs, after [Haug97] 4.3. An explicit formula would
have to take steps below two over the largest eigenvalue; implicit partitioning takes any, its constraints hold to
rounding, and its error falls with the square of the step. `gcp-fv` solves the same equations with a simpler Jacobian.
"""

import mbdfmu as mbd

T_END = 0.035  # s


def run(model: mbd.Model, scheme: str, step: float) -> tuple[float, float, float]:
    """The crank angle at the end, iterations a step, and how far joints were open at most."""
    simulation = model.start(scheme=scheme, step=step, options={"newton_tolerance": 1e-10, "max_iterations": 100})
    simulation.advance(T_END)
    count = simulation.statistics
    return simulation["beta"], count["iterations"] / count["steps"], count["worst_position_violation"]


def main() -> None:
    model = mbd.models.load("andrews_stiff")
    exact = model.start(scheme="gcp-implicit", step=1e-5)
    exact.advance(T_END)
    print(f"angle at {T_END} s: {exact['beta']:.7f} rad")
    print("   step [s]   error [rad]   iterations   simplified   joints open")
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        angle, iterations, opened = run(model, "gcp-implicit", step)
        same, simplified, _ = run(model, "gcp-fv", step)
        assert abs(angle - same) < 1e-9  # one solution, two ways to it
        assert iterations < simplified
        errors.append(abs(angle - exact["beta"]))
        print(f"{step:11g} {errors[-1]:13.2e} {iterations:12.2f} {simplified:12.2f} {opened:13.1e}")
    assert 3.8 < errors[1] / errors[2] < 4.2  # second order

    system = model.compile()
    q, v, a, _ = system.start()
    by_q, gamma_q, gamma_v = system.rate_derivatives(0.0, q, v, a)
    print(f"entries of the constraints' second derivatives: {by_q.nnz}, {gamma_q.nnz}, {gamma_v.nnz}")


if __name__ == "__main__":
    main()
