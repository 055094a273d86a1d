"""The thin wheel."""

from typing import Annotated, ClassVar

from mbdfmu.counterparts import Equations
from mbdfmu.description import Direction, In, Mirrored, Positive
from mbdfmu.expressions import Node, atan2, sqrt
from mbdfmu.frames import Level, Measure, Primitive, Recipe, Resolve, Row
from mbdfmu.joints.base import Freedoms, JointElement, Z
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import cross, dot, minus, plus, scaled, unit


class RollingDisc(JointElement, name="rolling_disc"):
    """Thin disc that rolls on a plane without slipping; j is its centre, i lies in the plane."""

    freedoms = Freedoms(spatial=3)
    modelica = Equations(like="MultiBody.Joints.RollingWheel")
    parity: ClassVar = {3: {"lean": "odd"}}

    radius: Annotated[Positive, In("m")]
    axis: Annotated[Direction, In("1"), Mirrored("axial")] = Z  # of the disc, in frame j
    normal: Annotated[Direction, In("1")] = Z  # of the plane, in frame i

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        """With unit vectors n, normal of the plane, and a, axis of the disc, and c = sqrt(1 - (n.a)^2):

        the arm from the centre to the contact is -r (n - (n.a) a)/c, hence the height of the centre is r c;
        the disc moves along a x n, and n x (a x n) points to its side.
        """
        n, a = i.axis(unit(resolve(self.normal))), j.axis(unit(resolve(self.axis)))
        radius, lean = resolve(self.radius), dot(n, a)
        upright = sqrt(1 - lean * lean)
        arm = scaled(-radius / upright, minus(n, scaled(lean, a)))
        ahead = scaled(1 / upright, cross(a, n))
        between = minus(j.p, i.p)
        disc = plus(_rate(j.p, resolve), cross(j.omega, arm))  # of the material point in contact
        ground = plus(_rate(i.p, resolve), cross(i.omega, plus(between, arm)))
        slip = minus(disc, ground)
        rows = (
            _row("normal", dot(n, between) - radius * upright),
            _row("longitudinal", dot(ahead, slip), "velocity"),
            _row("lateral", dot(cross(n, ahead), slip), "velocity"),
        )
        leaning = Measure(value=atan2(lean, upright), unit="rad", text="angle of the disc's axis to the plane")
        return Recipe(primitives=(Primitive(rows=rows),), free={"lean": leaning})


def _rate(p: tuple[Node, Node, Node], resolve: Resolve) -> tuple[Node, Node, Node]:
    return resolve.rate(p[0]), resolve.rate(p[1]), resolve.rate(p[2])


def _row(name: str, value: Node, level: Level = "position") -> Row:
    text = f"{name} force of the plane on the disc"
    return Row(direction=name, value=value, unit="m", reaction=name, text=text, level=level)
