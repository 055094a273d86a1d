"""How joints stay closed when accelerations are integrated: left alone, fed back, partitioned, projected.

The same formula of fourth order and the same steps for all; only what is done about the gaps of joints differs.
"""

import mbdfmu as mbd

T_END, STEP = 10.0, 0.01  # s
TREATMENTS = (
    ("direct", {}),
    ("baumgarte", {"alpha": 5.0}),
    ("baumgarte", {"gains": "adaptive"}),
    ("hybrid", {"alpha": 5.0, "most_open": 1e-6}),
    ("gcp", {}),
)


def main() -> None:
    model = mbd.models.load("slider_crank_coordinates")
    exact = model.simulate(T_END, T_END, scheme="dop853", tolerance=1e-12)["theta"][-1]
    print(f"{'scheme':12}{'options':42}{'largest gap':>12}{'error':>10}{'corrected':>10}{'chosen anew':>12}")
    for scheme, options in TREATMENTS:
        simulation = model.start(scheme=scheme, options={"formula": "mampc3", **options}, step=STEP)
        simulation.advance(T_END)
        count = simulation.statistics
        gap, error = count["worst_position_violation"], abs(simulation["theta"] - exact)
        print(
            f"{scheme:12}{options!s:42}{gap:12.1e}{error:10.1e}"
            f"{count['corrected_steps']:10d}{count['repartitions']:12d}"
        )


if __name__ == "__main__":
    main()
