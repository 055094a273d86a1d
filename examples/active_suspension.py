"""Active suspensions on bumps and rough roads: what skyhook, a hybrid and optimal feedback do for comfort and grip.

A quarter and a half car drive at 20 m/s over roads of ISO 8608, their controllers inside the model. Optimal feedback
weighs accelerations of the body, travel and tyre deflection; it is designed from the model's own linearization, which
also gives the Bode plot from road to acceleration and, with the density of the road, the acceleration to be expected.
On a road of class C skyhook damping takes more than 35 % of the passive car's acceleration, at the cost of grip;
optimal feedback takes 20 % and costs next to none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import mbdfmu as mbd

SPEED, DURATION, STEP = 20.0, 8.0, 0.005  # m/s, s, s
GRADES = ("B", "C", "D")
HUMP = mbd.roads.bump(height=0.05, length=3.0, start=5.0)
SPACING = 1 / 40  # m, of the points of the road
SKYHOOK = {"gain": 3000.0, "replaced": 1000.0}
HYBRID = {"gain": 3000.0, "ground_gain": 1500.0, "share": 0.7}
WEIGHTS = {"travel": 1e3, "body_speed": 0.0, "deflection": 1e5, "travel_rate": 0.0}  # for 1 of (m/s2)^2, (rad/s2)^2
UNITS = ("m", "m/s", "m", "m/s")


@dataclass(frozen=True)
class Car:
    """A shipped model, and what its names begin with at each axle; the rear meets the road later."""

    name: str
    axles: dict[str, float]  # m behind the front wheel
    accelerations: tuple[str, ...]

    @property
    def model(self) -> mbd.Model:
        return mbd.models.load(self.name)

    def of_axle(self, axle: str) -> list[str]:
        """What is measured there, in the order of WEIGHTS."""
        deflection = f"{axle}deflection" if axle else "tyre_deflection"
        return [f"{axle}travel", f"{axle}body_speed", deflection, f"{axle}travel_rate"]

    @property
    def measured(self) -> list[str]:
        return [name for axle in self.axles for name in self.of_axle(axle)]

    def inputs(self, road: mbd.roads.Profile) -> Any:
        wheels = {f"{axle}road": behind for axle, behind in self.axles.items()}
        return road.inputs(SPEED, DURATION, wheels, spacing=SPACING)


QUARTER = Car("quarter_car", {"": 0.0}, ("acceleration",))
HALF = Car("half_car", {"front_": 0.0, "rear_": 2.7}, ("acceleration", "pitch_acceleration"))


# ---------------------------------------------------------------- controllers


def hooked(car: Car, kind: str, parameters: dict[str, float]) -> mbd.Model:
    """A controller at each axle, which sees what its own suspension does."""
    controllers = {f"{axle}{kind}": mbd.controllers.load(kind, **parameters) for axle in car.axles}
    links = {}
    for axle in car.axles:
        links |= {f"{axle}{kind}.{name}": f"plant.{axle}{name}" for name in ("body_speed", "travel_rate")}
        links[f"plant.{axle}actuator"] = f"{axle}{kind}.force"
    return mbd.controllers.inside(car.model, controllers, links)


def gains(car: Car) -> list[list[float]]:
    """Of the feedback that minimises the integral of accelerations^2 and weighted measurements^2.

    Accelerations a = Ca x + Da u hold the forces themselves. With u = v - K0 y, K0 so that a = Da v, no products of
    states and forces are left in the integral, and v follows from the usual design.
    """
    actuators = [f"{axle}actuator" for axle in car.axles]
    outputs = [*car.measured, *car.accelerations]
    linear = car.model.linearize(inputs=actuators, outputs=outputs, parameters={"bump": 0.0})
    count = len(car.measured)
    C, Ca, Da = linear.C[:count], linear.C[count:], linear.D[count:]
    seen = np.any(np.abs(C) > 1e-9, axis=0)
    K0 = np.linalg.solve(Da, Ca[:, seen]) @ np.linalg.inv(C[:, seen])
    free = replace(linear, A=linear.A - linear.B @ K0 @ C)
    Q = [*WEIGHTS.values()] * len(car.axles)
    K = mbd.controllers.lqr_gains(free, actuators, car.measured, Q=Q, R=Da.T @ Da)
    return (np.array(K) + K0).tolist()


def optimal(car: Car) -> mbd.Model:
    """Optimal feedback; deflections are counted from rest, where no force shall be."""
    channels = tuple(f"{axle}force" for axle in car.axles)
    law = mbd.controllers.load(
        "lqr", gains=gains(car), measured=tuple(car.measured), channels=channels,
        measured_units=UNITS * len(car.axles), channel_units=("N",) * len(car.axles),
    )  # fmt: skip
    rest = car.model.start()
    links: dict[str, Any] = {f"plant.{axle}actuator": f"lqr.{axle}force" for axle in car.axles}
    for name in car.measured:
        links[f"lqr.{name}"] = {"from": f"plant.{name}", "offset": -rest[name] if "deflection" in name else 0.0}
    return mbd.controllers.inside(car.model, {"lqr": law}, links)


def variants(car: Car) -> dict[str, mbd.Model]:
    return {
        "passive": car.model,
        "skyhook": hooked(car, "skyhook", SKYHOOK),
        "hybrid": hooked(car, "groundhook", HYBRID),
        "optimal": optimal(car),
    }


# ---------------------------------------------------------------- what comes out


def road_of(grade: str) -> mbd.roads.Rough:
    return mbd.roads.iso8608(grade, length=SPEED * DURATION, seed=1)


def figures(car: Car, model: mbd.Model, road: mbd.roads.Profile) -> dict[str, float]:
    """Comfort, room and grip; of several suspensions the worst."""
    result = model.simulate(DURATION, STEP, inputs=car.inputs(road), parameters={"bump": 0.0})
    travel = np.array([result[car.of_axle(axle)[0]] for axle in car.axles])
    load = np.array([result[f"{axle}wheel_load"] for axle in car.axles])
    return {
        "acceleration": rms(result["acceleration"]),
        "pitch_acceleration": rms(result["pitch_acceleration"]) if len(car.axles) > 1 else 0.0,
        "travel": max(map(rms, travel)),
        "peak_travel": float(np.max(np.abs(travel))),
        "load": max(rms(row - row[0]) for row in load),
        "least_load": float(np.min(load)),
    }


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def response(car: Car, model: mbd.Model, frequencies: np.ndarray) -> np.ndarray:
    """Acceleration over the height of the road, of the half car over a road that lifts both wheels at their times."""
    roads = [f"{axle}road" for axle in car.axles]
    linear = model.linearize(inputs=roads, outputs=["acceleration"], parameters={"bump": 0.0})
    late = [np.exp(-2j * np.pi * frequencies * behind / SPEED) for behind in car.axles.values()]
    return sum(linear.response(frequencies, "acceleration", name) * e for name, e in zip(roads, late, strict=True))


def expected(car: Car, model: mbd.Model, road: mbd.roads.Rough) -> float:
    """RMS of the acceleration from the density of the road and the frequency response."""
    n = np.geomspace(*road.band, 4000)
    power = np.abs(response(car, model, n * SPEED)) ** 2 * road.density(n)
    return float(np.sqrt(np.trapezoid(power, n)))


def report(car: Car, models: dict[str, mbd.Model], name: str, road: mbd.roads.Profile) -> None:
    print(f"{car.name}, {name}")
    for variant, model in models.items():
        f = figures(car, model, road)
        theory = f" ({expected(car, model, road):5.3f} expected)" if isinstance(road, mbd.roads.Rough) else ""
        room = f"travel {1e3 * f['travel']:5.1f} mm, peak {1e3 * f['peak_travel']:5.1f} mm"
        grip = f"tyre load {f['load']:5.0f} N, least {f['least_load']:5.0f} N"
        print(f"  {variant:8} acceleration {f['acceleration']:6.3f} m/s2{theory}, {room}, {grip}")


def plot(models: dict[str, mbd.Model], path: str) -> None:
    """Of the quarter car: Bode plot, and a piece of the rough road."""
    import matplotlib.pyplot as plt

    figure, (bode, time) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    frequencies = np.geomspace(0.1, 50, 400)
    for variant, model in models.items():
        bode.loglog(frequencies, np.abs(response(QUARTER, model, frequencies)), label=variant)
        result = model.simulate(3.0, STEP, inputs=QUARTER.inputs(road_of("C")), parameters={"bump": 0.0})
        time.plot(result.time, result["acceleration"], label=variant, linewidth=0.8)
    bode.set(xlabel="frequency [Hz]", ylabel="acceleration over road [1/s2]", title="quarter car")
    time.set(xlabel="time [s]", ylabel="acceleration of the body [m/s2]", title="road of class C, 20 m/s")
    bode.legend()
    figure.savefig(path)


def main() -> None:
    quarter, half = variants(QUARTER), variants(HALF)
    report(QUARTER, quarter, "bump of 50 mm", HUMP)
    for grade in GRADES:
        report(QUARTER, quarter, f"road of class {grade}", road_of(grade))
    report(HALF, half, "bump of 50 mm", HUMP)
    report(HALF, half, "road of class C", road_of("C"))
    try:
        plot(quarter, "active_suspension.png")
    except ImportError as missing:
        print(f"no picture without matplotlib: {missing}")


if __name__ == "__main__":
    main()
