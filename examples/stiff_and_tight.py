"""One scheme for a stiff mechanism and for tight tolerances: radau beside hht, counted in steps and iterations.

What is stiff in the first model need not be resolved: its steps are as long as the motion allows. The second has
nothing stiff, but each decade of error costs a scheme of second order three times the steps, one of order 5 1.6 times.
"""

import mbdfmu as mbd

RUNS = (("andrews_stiff", 0.03, "theta"), ("double_pendulum", 2.0, "bar2.phi"))


def main() -> None:
    print(f"{'model':17}{'scheme':8}{'tolerance':>10}{'steps':>7}{'iterations':>11}{'matrices':>9}{'error':>10}")
    for name, end, signal in RUNS:
        model = mbd.models.load(name)
        exact = model.simulate(end, end, scheme="radau", tolerance=1e-12)[signal][-1]
        for scheme, tolerance in (("hht", 1e-4), ("hht", 1e-7), ("radau", 1e-3), ("radau", 1e-6), ("radau", 1e-9)):
            simulation = model.start(scheme=scheme, tolerance=tolerance)
            simulation.advance(end)
            count, error = simulation.statistics, abs(simulation[signal] - exact)
            print(
                f"{name:17}{scheme:8}{tolerance:10.0e}{count['steps']:7}{count['iterations']:11}{count['jacobians']:9}"
                f"{error:10.1e}"
            )


if __name__ == "__main__":
    main()
