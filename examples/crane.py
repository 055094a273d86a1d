"""Blocks of a model at work: a crane's filters and controllers, and how the load sways if they are set otherwise."""

import mbdfmu as mbd

SETTINGS: dict[str, dict[str, float]] = {
    "as shipped": {},
    "without calming": {"calming": 0.0},
    "targets hardly smoothed": {"smoothing": 5.0},
}


def main() -> None:
    crane = mbd.models.load("crane")
    for name, parameters in SETTINGS.items():
        result = crane.simulate(parameters=parameters, record=["load_x", "sway", "control_x.y"])
        late = result["sway"][result.time > 12]
        place, force = result["load_x"][-1], max(abs(result["control_x.y"]))
        print(f"{name:24} sway {max(result['sway']):.2f} m, after 12 s {max(late):.3f} m; load at x = {place:.2f} m;")
        print(f"{'':24} force up to {force:.0f} N")


if __name__ == "__main__":
    main()
