"""A car stops from 100 km/h on a dry, a wet and a split road, with anti-lock brakes and without: three coupled FMUs.

The car, the brakes' controller and a driver who steers against the turning of the car are FMUs; a master couples them
every 5 ms and extrapolates in between. With values held for so long the wheels swing on the wet road (MASTER = {} shows
it), which is the coupling's doing: at 1 ms they do not, and the stop is as long as the extrapolated one.

What the stop takes is compared with what the tyres can give at best, by hand: every wheel at the peak of its friction,
under the load that it carries while the car brakes. With locked wheels, likewise, by the friction of sliding. On the
split road the left wheels are on ice: the driver holds the car that can be steered, the other one spins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

import mbdfmu as mbd

WHEELS = {"fl": "front_left", "fr": "front_right", "rl": "rear_left", "rr": "rear_right"}
ROADS = {"dry": (1.0, 1.0), "wet": (0.4, 0.4), "split": (0.3, 1.0)}  # friction on the left, on the right
SPEED, END = 100 / 3.6, 3 / 3.6  # m/s
DEMAND = 3000.0  # N.m at a front wheel, half of it at a rear one: locks every wheel
STEP, LONGEST = 0.005, 12.0  # s
MASTER = {"extrapolation": 1}
LOCKED, WATCHED = -0.95, 15 / 3.6  # slip of a wheel that stands, and the speed (m/s) above which it must not
DRIVER = {"kp": 0.12, "kd": 0.04, "filter_time": 0.05, "lowest": -0.07, "highest": 0.07}  # m of the rack over rad

# By hand: masses (kg) and their heights, the place of the axles (m), the tyre along: [Pacejka02] Table A3.1
MASSES = ((1340.0, 0.56), (6.0, 0.24), (160.0, 0.29))
FRONT, REAR = 1.2, 1.5
NOMINAL, C, K1, K2, K3, E1, E2, E3 = 4000.0, 1.685, 21.51, -0.163, 0.245, 0.344, 0.095, -0.02
D1, D2, GRAVITY = 1.21, -0.037, 9.81


@dataclass
class Stop:
    """What a run has recorded until the car was down to 3 km/h."""

    time: np.ndarray
    signals: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.signals[name]

    @property
    def distance(self) -> float:
        """Way until then, m."""
        return float(self["car.driven"][-1])

    @property
    def yaw(self) -> np.ndarray:
        """Heading over time, degrees, also over whole turns."""
        return np.degrees(np.unwrap(self["car.yaw"]))

    @property
    def locked(self) -> float:
        """The longest time that a wheel stood still while the car was faster than 15 km/h, s."""
        found = 0.0
        for wheel in WHEELS.values():
            stands = (self[f"car.{wheel}_slip"] < LOCKED) & (speed_of(self.signals) > WATCHED)
            found = max([found, *(STEP * len(list(run)) for key, run in groupby(stands) if key)])
        return found


def speed_of(signals: dict[str, np.ndarray]) -> np.ndarray:
    return np.hypot(signals["car.speed_ahead"], signals["car.speed_left"])


# ---------------------------------------------------------------- the system


def export(folder: Path) -> dict[str, Path]:
    """The three FMUs; the car's friction has a parameter for the left half of the road."""
    car = mbd.models.load("full_vehicle", friction="if({y} > 0, left_friction, friction)")
    car.add("left_friction", mbd.Parameter(value=1, text="of the road below the left wheels"))
    brakes, driver = mbd.controllers.load("abs_slip:wheels=4"), mbd.controllers.load("pid", **DRIVER)
    return {
        "car": car.export_fmu(folder / "car.fmu", signals=[]),
        "brakes": brakes.export_fmu(folder / "brakes.fmu", runtime="native"),
        "driver": driver.export_fmu(folder / "driver.fmu", runtime="native"),
    }


def system(fmus: dict[str, Path], road: str, controlled: bool) -> mbd.cosim.System:
    """Car, brakes and driver; brakes that cut out at any speed leave the wheels to the driver's foot."""
    left, right = ROADS[road]
    found = mbd.cosim.System(f"stop_{road}", master=MASTER)
    found.add("car", fmus["car"], parameters={"speed": SPEED, "left_friction": left, "friction": right})
    found.add("brakes", fmus["brakes"], inputs={"demand": DEMAND}, parameters={} if controlled else {"cut_out": 1e3})
    found.add("driver", fmus["driver"])
    found.connect("brakes.speed", "car.speed_ahead")
    for short, wheel in WHEELS.items():
        found.connect(f"brakes.slip_{short}", f"car.{wheel}_slip")
        found.connect(f"car.{wheel}_pressure", f"brakes.torque_{short}", factor=1 / 2e-4)  # front_brake, N.m/Pa
    found.connect("driver.measured", "car.yaw")
    found.connect("car.rack", "driver.y")
    return found


def stop(coupled: mbd.cosim.System, step: float = STEP) -> Stop:
    """Step until the car is down to 3 km/h."""
    with coupled.start() as run:
        names, rows, times = run.names, [run.values()], [run.time]
        while run.time < LONGEST and speed_of(dict(zip(names, rows[-1], strict=True))) > END:
            run.step(step)
            rows.append(run.values())
            times.append(run.time)
    return Stop(np.array(times), dict(zip(names, np.array(rows).T, strict=True)))


# ---------------------------------------------------------------- by hand


def peak(load: float, friction: float) -> float:
    """Largest force of a tyre along, N: D of the Magic Formula (T4.47)."""
    return friction * load * (D1 + D2 * (load / NOMINAL - 1))


def sliding(load: float, friction: float) -> float:
    """Force of a locked wheel, slip -1, N."""
    df = load / NOMINAL - 1
    D, K = peak(load, friction), load * (K1 + K2 * df) * np.exp(K3 * df)
    x, E = -K / (C * D), (E1 + E2 * df + E3 * df**2)
    return float(-D * np.sin(C * np.arctan(x - E * (x - np.arctan(x)))))


def by_hand(road: str, force: Callable[[float, float], float]) -> float:
    """Stopping distance (m) with this force at every wheel, loads as they are at that deceleration."""
    mass = sum(m for m, _ in MASSES)
    height = sum(m * z for m, z in MASSES) / mass
    slowing = 0.0
    for _ in range(50):
        front, rear = (mass * (GRAVITY * x + s * slowing * height) / (FRONT + REAR) / 2
                       for x, s in ((REAR, 1), (FRONT, -1)))  # fmt: skip
        slowing = sum(force(load, mu) for load in (front, rear) for mu in ROADS[road]) / mass
    return (SPEED**2 - END**2) / (2 * slowing)


# ---------------------------------------------------------------- what comes out


def plot(stops: dict[tuple[str, bool], Stop], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, len(ROADS), figsize=(13, 8), sharex="col", layout="constrained")
    for (road, controlled), found in stops.items():
        speeds, slips, headings = axes[:, list(ROADS).index(road)]
        name, style = ("anti-lock", "-") if controlled else ("locked", ":")
        speeds.plot(found.time, 3.6 * speed_of(found.signals), style, label=f"{name}: {found.distance:.1f} m")
        for wheel, color in zip(WHEELS.values(), ("C0", "C1", "C2", "C3"), strict=True):
            label = wheel.replace("_", " ") if controlled else None
            slips.plot(found.time, found[f"car.{wheel}_slip"], style, color=color, linewidth=0.8, label=label)
        headings.plot(found.time, found.yaw, style, label=name)
        speeds.set_title(f"{road} road")
        slips.set_ylim(-1.05, 0.1)
        headings.set_ylim(-95, 15)  # what turns further is out of control
        headings.set_xlabel("time [s]")
    for row, text in zip(axes, ("speed [km/h]", "slip [1]", "heading [degrees]"), strict=True):
        row[0].set_ylabel(text)
        row[0].legend()
    for axis in axes[0]:
        axis.legend()
    figure.savefig(path)


def report(road: str, controlled: bool, found: Stop) -> None:
    name, force = ("anti-lock", peak) if controlled else ("locked", sliding)
    way = f"{found.distance:6.1f} m, by hand {by_hand(road, force):6.1f} m"
    if road == "split" and not controlled:
        way = f"{found.distance:6.1f} m"  # turning, its wheels slide across too
    turned = np.max(np.abs(found.yaw))
    print(f"{road:6}{name:10} {way:28} a wheel locked for {found.locked:4.2f} s, heading off by {turned:4.0f} degrees")


def main() -> None:
    fmus = export(Path.cwd())
    stops = {(road, on): stop(system(fmus, road, on)) for road in ROADS for on in (True, False)}
    print("stop from 100 to 3 km/h; by hand: all wheels at the peak of friction, or sliding")
    for (road, controlled), found in stops.items():
        report(road, controlled, found)
    try:
        plot(stops, "abs_stop.png")
    except ImportError as missing:
        print(f"no picture without matplotlib: {missing}")


if __name__ == "__main__":
    main()
