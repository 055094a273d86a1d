"""A Stewart platform from rough guesses: bodies anywhere near, and what each leg's slide shall show at the start.

The shipped model writes every leg's place with sines and cosines. Here all of that is thrown away: legs stand upright,
places are rounded to 0.1 m, the platform is turned and shifted. The start values of the six slides say what is wanted,
and assembly finds the rest.
"""

import math

import numpy as np

import mbdfmu as mbd

EXTENSION = 0.1  # m, of every leg
UPRIGHT = {"axis": [0, 1, 0], "angle": "-90*deg"}  # legs lie along their own axis x
FEET = (10, 110, 130, 230, 250, 350)  # degrees


def rough() -> mbd.Model:
    """The shipped platform without its drives, with guesses for places and with start values in their stead."""
    data = mbd.models.load("stewart").description.to_data()
    bodies, joints = data["bodies"], data["joints"]
    for entry in ("motions", "outputs"):
        del data[entry]
    bodies["platform"] |= {"position": [0.1, -0.1, 1], "orientation": {"angles": [0.1, -0.1, 0.2], "sequence": "rpy"}}
    for leg, angle in enumerate(FEET, start=1):
        x, y = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        bodies[f"tube{leg}"] |= {"position": [round(x, 1), round(y, 1), 0], "orientation": UPRIGHT}
        bodies[f"rod{leg}"] |= {"position": [round(0.8 * x, 1), round(0.8 * y, 1), 1], "orientation": UPRIGHT}
        joints[f"slide{leg}"]["start"] = {"displacement": EXTENSION}
    return mbd.Model.from_description(mbd.Description(**data))


def closed_form(leg: float, height: float) -> float:
    """Where the platform has to be: seen from above every leg keeps its length."""
    return math.sqrt((leg + EXTENSION) ** 2 - (leg**2 - height**2))


def main() -> None:
    model = rough()
    sim = model.start()
    print("slides:  ", " ".join(f"{sim[f'slide{leg}.displacement']:.12f}" for leg in range(1, 7)), "m")
    print("platform:", " ".join(f"{k} {sim[f'platform.{k}']:z.9f}" for k in ("x", "y", "z", "roll", "pitch", "yaw")))
    print(f"closed form: z {closed_form(sim['leg'], sim['height']):.9f} m")
    system = model.compile()
    q, *_ = system.start()
    print(f"joints open by {np.abs(system.constraints(0.0, q)).max():.0e}")


if __name__ == "__main__":
    main()
