"""A door on two hinges: five of ten constraint rows repeat others, and reactions are the smallest that do.

Which hinge carries how much is not a question that rigid bodies can answer. The motion does not depend on it; the
reactions reported are the smallest of all that hold the door, and a mechanism without redundancy shows another share.
"""

import mbdfmu as mbd
from mbdfmu.joints import PointOnLine, Revolute, Spherical

MASS, WIDTH, HEIGHT = 20.0, 0.9, 2.0  # kg, m
LOW, HIGH = 0.2, 1.8  # m, places of the hinges
SPEED = 1.0  # rad/s, at the start
AXIS = (0, 0, 1)


def door(upper: type, lower: type) -> mbd.Model:
    """A plate that hangs on the z axis by two joints and swings about it."""
    plate = mbd.Box(size=(WIDTH, 0.04, HEIGHT), mass=MASS)
    model = mbd.Model("door", dimensions=3, gravity=(0, 0, -9.81))
    model.add("door", mbd.Body(shapes=(plate,), position=(WIDTH / 2, 0, HEIGHT / 2), omega=(0, 0, SPEED),
                               velocity=(0, SPEED * WIDTH / 2, 0)))  # fmt: skip
    for name, joint, z in (("upper", upper, HIGH), ("lower", lower, LOW)):
        axis = {} if joint is Spherical else {"axis": AXIS}
        i, j = {"body": "ground", "at": (0, 0, z)}, {"body": "door", "at": (-WIDTH / 2, 0, z - HEIGHT / 2)}
        model.add(name, joint(i=i, j=j, **axis))
    return model


def report(title: str, model: mbd.Model) -> float:
    """Print what is redundant and the reactions at the start; returns the door's angle after a second."""
    print(title)
    sim = model.start(tolerance=1e-8)
    for redundancy in sim.redundancies:
        print(f"  {redundancy}")
    for name in ("upper", "lower"):
        force, torque = ([sim[f"{name}.{kind}.{k}"] for k in "xyz"] for kind in ("force", "torque"))
        print(f"  {name}: force {' '.join(f'{f:z8.2f}' for f in force)} N, "
              f"torque {' '.join(f'{t:z7.2f}' for t in torque)} N.m")  # fmt: skip
    print(f"  both carry {sum(sim[f'{name}.force.z'] for name in ('upper', 'lower')):.2f} N")
    sim.advance(1.0)
    return sim["door.yaw"]


def main() -> None:
    two_hinges = report("two hinges", door(Revolute, Revolute))
    determinate = report("a ball joint below, a guide above", door(PointOnLine, Spherical))
    print(f"angle after 1 s: {two_hinges:.9f} and {determinate:.9f} rad")


if __name__ == "__main__":
    main()
