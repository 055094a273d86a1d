"""A controller from end to end: one definition, as an FMU beside that of the car, and inside the model of the car.

The coupled FMUs come to the one model as the communication step falls: at the first order where values are held during
a step, at the second where they are extrapolated. So does the energy that the coupling makes up, which needs no twin.
"""

from itertools import pairwise

import numpy as np

import mbdfmu as mbd

LINKS = {
    "skyhook.body_speed": "car.body_speed",
    "skyhook.travel_rate": "car.travel_rate",
    "car.actuator": "skyhook.force",
}
STEPS = (8e-3, 4e-3, 2e-3, 1e-3)  # s
END, KICK = 1.0, {"body.vy": 0.5}  # s, m/s of the body at the start
MASTERS = {"held": {}, "extrapolated": {"extrapolation": 1}}


def twin() -> mbd.Result:
    """One model with the controller in it: what ever smaller steps come to."""
    model = mbd.controllers.inside(
        mbd.models.load("quarter_car"), {"skyhook": mbd.controllers.load("skyhook", lag=0.02)}, LINKS, plant="car"
    )
    run = {"scheme": "dop853", "tolerance": 1e-10, "parameters": {"bump": 0.0}, "start": KICK}
    return model.simulate(END, STEPS[-1], **run)


def coupled() -> mbd.cosim.System:
    """Two FMUs, and the power that the actuator has."""
    mbd.models.load("quarter_car").export_fmu("car.fmu", scheme="dop853", tolerance=1e-9)
    mbd.controllers.load("skyhook", lag=0.02).export_fmu("skyhook.fmu", runtime="native")
    system = mbd.cosim.System("active_car")
    system.add("car", "car.fmu", parameters={"bump": 0.0, **{f"{name}.start": x for name, x in KICK.items()}})
    system.add("skyhook", "skyhook.fmu", tolerance=1e-9)
    for target, source in LINKS.items():
        system.connect(target, source)
    system.bond("actuator", effort="car.actuator", flow="car.travel_rate")
    return system


def convergence(system: mbd.cosim.System, exact: mbd.Result) -> tuple[list[float], list[float], mbd.Result]:
    """By step, the largest difference of the body's height (m) and the energy that is made up (J); the last run."""
    errors, made_up = [], []
    for step in STEPS:
        result = system.simulate(END, step)
        wanted = exact["height_of_body"][:: round(step / STEPS[-1])]
        errors.append(float(np.max(np.abs(result["car.height_of_body"] - wanted))))
        made_up.append(abs(float(result["actuator.residual_energy"][-1])))
    return errors, made_up, result


def orders(errors: list[float]) -> list[float]:
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]


def plot(found: dict[str, list[float]], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    for name, errors in found.items():
        axes.loglog(STEPS, errors, "o-", label=f"{name}, order {orders(errors)[-1]:.2f}")
    axes.set(xlabel="communication step [s]", ylabel="largest difference of the body's height [m]")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    exact, system = twin(), coupled()
    found = {}
    for name, master in MASTERS.items():
        errors, made_up, result = convergence(system.with_master(**master), exact)
        found[name] = errors
        print(f"values {name} during steps of", ", ".join(f"{1e3 * step:g} ms" for step in STEPS))
        print("  differences", ", ".join(f"{1e3 * e:.4f} mm" for e in errors), f"order {orders(errors)[-1]:.2f}")
        print("  made up    ", ", ".join(f"{x:.5f} J" for x in made_up), f"order {orders(made_up)[-1]:.2f}", end="")
        print(f", of {abs(result['actuator.energy'][-1]):.2f} J that the actuator takes")
    system.save("active_car.json")
    print("wrote active_car.json; `mbdfmu cosim active_car.json -t 1 --step 2e-3` runs it")
    try:
        plot(found, "skyhook_from_end_to_end.png")
    except ImportError as missing:
        print(f"no picture without matplotlib: {missing}")


if __name__ == "__main__":
    main()
