"""Inertia from shapes against closed forms and sampled matter, and orientations against scipy, at random values."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mbdfmu.coordinates import Coordinates
from mbdfmu.description import Body, Box, Cylinder, Orientation, Rod, Shape, Sphere
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Graph, build, evaluate, parse
from mbdfmu.inertia import weight
from mbdfmu.orientation import composed, matrix, normalised, of_matrix, product, quaternion, roll_pitch_yaw, rotation

P = {"a": 0.4, "b": 1.7, "m": 3.0}  # parameters of the expressions
SEEDS = range(5)


class Case:
    """A graph whose parameters have the values of P."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.symbols = {self.graph.symbol("p", name): value for name, value in P.items()}

    def resolve(self, value):
        if isinstance(value, str):
            return build(parse(value), self.graph, lambda name: self.graph.symbol("p", name))
        return self.graph.const(value)

    def numbers(self, nodes) -> np.ndarray:
        return np.array(evaluate(list(nodes), self.symbols), dtype=float)

    def matrix(self, rows) -> np.ndarray:
        return self.numbers(itertools.chain(*rows)).reshape(3, 3)

    def weight(self, *shapes: Shape, **given):
        """Mass, centre and matrix."""
        w = weight(Body(shapes=shapes, **given), self.resolve, self.graph)
        xx, yy, zz, xy, xz, yz = self.numbers(w.tensor)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return self.numbers([w.mass])[0], self.numbers(w.center), tensor


@pytest.fixture
def case() -> Case:
    return Case()


def random_rotation(seed: int) -> Rotation:
    return Rotation.random(random_state=seed)


def constants(case: Case, rows):
    return tuple(tuple(case.graph.const(x) for x in row) for row in np.asarray(rows))


def up_to_sign(a, b) -> float:
    return min(np.abs(a - b).max(), np.abs(a + b).max())


# Orientations ---------------------------------------------------------------------------------------------------------


def orientations(seed: int):
    """Every form of a file, and the same by scipy."""
    rng = np.random.default_rng(seed)
    q, axis, angle, angles = rng.normal(size=4), rng.normal(size=3), rng.uniform(-7, 7), rng.uniform(-4, 4, 3)
    yield Orientation(quaternion=q), Rotation.from_quat(np.roll(q, -1))
    yield Orientation(axis=axis, angle=angle), Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle)
    yield Orientation(angles=angles, sequence="313"), Rotation.from_euler("ZXZ", angles)
    yield Orientation(angles=angles, sequence="rpy"), Rotation.from_euler("xyz", angles)
    r = Rotation.from_quat(q).as_matrix()
    back, around = Orientation(reverse={"axis": axis, "angle": angle}), Orientation(quaternion=q)
    r_back, r_around = Rotation.from_rotvec(-axis / np.linalg.norm(axis) * angle), Rotation.from_quat(np.roll(q, -1))
    yield back, r_back
    yield Orientation(reverse=back, within=around), r_around * r_back.inv()
    yield Orientation(angles=angles, sequence="rpy", within=around), r_around * Rotation.from_euler("xyz", angles)
    yield Orientation(x=2 * r[:, 0], y=3 * r[:, 1] - 5 * r[:, 0]), Rotation.from_quat(q)
    yield Orientation(x=r[:, 0], y=r[:, 1], within=around), r_around * Rotation.from_quat(q)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_form_of_orientation_is_that_of_scipy(case, seed):
    for orientation, expected in orientations(seed):
        q = case.numbers(quaternion(orientation, case.resolve, case.graph))
        assert up_to_sign(q, np.roll(expected.as_quat(), 1)) < 1e-14
        found = case.matrix(matrix(orientation, case.resolve, case.graph))
        assert found == pytest.approx(expected.as_matrix(), abs=1e-14)


def test_no_orientation_is_no_turn(case):
    assert case.matrix(matrix(None, case.resolve, case.graph)) == pytest.approx(np.eye(3), abs=0)
    assert quaternion(None, case.resolve, case.graph)[0] is case.graph.one


def test_orientations_follow_parameters(case):
    given = Orientation(axis=(0, 0, "m"), angle="a + b")
    expected = Rotation.from_rotvec([0, 0, P["a"] + P["b"]]).as_matrix()
    assert case.matrix(matrix(given, case.resolve, case.graph)) == pytest.approx(expected, abs=1e-15)


def test_the_quaternion_of_a_matrix_is_found_for_every_turn(case):
    """Half turns make the real part vanish, the 24 turns of a cube make ties; both are met exactly and nearly."""
    cube = [r.as_matrix() for r in Rotation.create_group("O")]
    near = [r @ Rotation.from_rotvec(s * np.eye(3)[k]).as_matrix() for r in cube for k in range(3) for s in (1e-9, 0.1)]
    for r in cube + near:
        q = case.numbers(of_matrix(constants(case, r)))
        assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
        assert Rotation.from_quat(np.roll(q, -1)).as_matrix() == pytest.approx(r, abs=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_compose_turns(case, seed):
    p, q = (Rotation.random(random_state=10 * seed + k) for k in (1, 2))
    a, b = (constants(case, r.as_matrix()) for r in (p, q))
    assert case.matrix(composed(a, b)) == pytest.approx((p * q).as_matrix(), abs=1e-14)
    assert case.matrix(rotation(product(of_matrix(a), of_matrix(b)))) == pytest.approx((p * q).as_matrix(), abs=1e-14)
    roll, pitch, yaw = case.numbers(roll_pitch_yaw(a))
    assert Rotation.from_euler("xyz", (roll, pitch, yaw)).as_matrix() == pytest.approx(p.as_matrix(), abs=1e-14)


def test_the_matrix_moves_as_the_quaternion_does(case):
    """The derivatives by theta, written down once for each, agree where the symbols are those of one turn."""
    coordinates = Coordinates(case.graph)
    e, r = coordinates.add_orientation("body")
    q = np.roll(random_rotation(1).as_quat(), 1)
    case.symbols |= dict(zip((*e, *r[0], *r[1], *r[2]), (*q, *random_rotation(1).as_matrix().flat), strict=True))
    from_quaternion = rotation(e)
    for name in coordinates.names:
        for entry, other in zip(itertools.chain(*r), itertools.chain(*from_quaternion), strict=True):
            slope, expected = case.numbers([coordinates.diff(entry, name), coordinates.diff(other, name)])
            assert slope == pytest.approx(expected, abs=1e-14)


# Shapes ---------------------------------------------------------------------------------------------------------------

HALF_TURN_FREE = Orientation(angles=(0.3, -1.1, 0.7), sequence="rpy")


def tensor(*diagonal) -> np.ndarray:
    return np.diag(np.array(diagonal, dtype=float))


@pytest.mark.parametrize(
    ("shape", "mass", "expected"),
    [
        (Box(size=(1, 2, 3), mass=12), 12, tensor(13, 10, 5)),
        (Box(size=(1, 2, 3), density=2), 12, tensor(13, 10, 5)),
        (Cylinder(radius=2, length=3, mass=12), 12, tensor(21, 21, 24)),
        (Cylinder(radius=2, length=3, density=1 / math.pi), 12, tensor(21, 21, 24)),
        (Sphere(radius=2, mass=5), 5, tensor(8, 8, 8)),
        (Sphere(radius=3, density=1 / math.pi), 36, 129.6 * np.eye(3)),
        (Rod(start=(-1, 0, 0), end=(1, 0, 0), mass=3), 3, tensor(0, 1, 1)),
        (Rod(start=(0, 0, -1.5), end=(0, 0, 1.5), radius=2, mass=12), 12, tensor(21, 21, 24)),
        (Rod(start=(0, 0, -1.5), end=(0, 0, 1.5), radius=2, density=1 / math.pi), 12, tensor(21, 21, 24)),
        (Box(size=("a", "b", 3), mass="m"), P["m"], 3 / 12 * tensor(1.7**2 + 9, 0.4**2 + 9, 0.4**2 + 1.7**2)),
    ],
)
def test_a_shape_in_the_middle_has_the_inertia_of_the_textbooks(case, shape, mass, expected):
    found, center, j = case.weight(shape)
    assert found == pytest.approx(mass, rel=1e-14) and center == pytest.approx(np.zeros(3), abs=1e-15)
    assert j == pytest.approx(expected, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_turned_shape_turns_its_tensor(case, seed):
    r = random_rotation(seed)
    given = Orientation(quaternion=np.roll(r.as_quat(), 1))
    _, _, upright = case.weight(Box(size=(1, 2, 3), mass=12))
    _, center, turned = case.weight(Box(size=(1, 2, 3), mass=12, at=(4, 5, 6), orientation=given))
    assert turned == pytest.approx(r.as_matrix() @ upright @ r.as_matrix().T, abs=1e-13)
    assert center == pytest.approx([4, 5, 6])


def test_a_rod_is_a_cylinder_between_its_ends(case):
    start, end = np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, -1.5])
    d = end - start
    upright = Orientation(x=np.cross(d, (0, 1, 0)), y=np.cross(d, np.cross(d, (0, 1, 0))))
    cylinder = Cylinder(radius=0.3, length=np.linalg.norm(d), at=(start + end) / 2, orientation=upright, density=7)
    rod = Rod(start=start, end=end, radius=0.3, density=7)
    for one, other in zip(case.weight(cylinder), case.weight(rod), strict=True):
        assert one == pytest.approx(other, rel=1e-13, abs=1e-13)


def test_the_parts_of_a_box_weigh_as_the_whole(case):
    halves = [Box(size=(1, 2, 1.5), at=(0, 0, z), density=2, orientation=Orientation(axis=(0, 0, 1), angle=math.pi))
              for z in (-0.75, 0.75)]  # fmt: skip
    for one, other in zip(case.weight(*halves), case.weight(Box(size=(1, 2, 3), density=2)), strict=True):
        assert one == pytest.approx(other, rel=1e-14, abs=1e-14)


def test_composition_is_that_of_sampled_matter(case):
    """Points that have the same moments up to the second as each shape, put together by the definition."""
    boxes = [
        Box(size=(1, 2, 3), at=(0.5, -1, 2), mass=2, orientation=HALF_TURN_FREE),
        Box(size=(0.2, 0.7, 1), at=(-1, 0.3, 0), mass=3),
        Rod(start=(0, 1, 2), end=(2, 1, -1), mass=1.5),
    ]
    points, masses = zip(*[pair for box in boxes for pair in _points(case, box)], strict=True)
    points, masses = np.array(points), np.array(masses)
    mass, center, j = case.weight(*boxes)
    assert mass == pytest.approx(masses.sum()) and center == pytest.approx(masses @ points / mass)
    d = points - center
    expected = np.einsum(
        "k,kij->ij", masses, np.einsum("k,ij->kij", (d**2).sum(1), np.eye(3)) - d[:, :, None] * d[:, None]
    )
    assert j == pytest.approx(expected, abs=1e-13)


def _points(case: Case, shape):
    if isinstance(shape, Rod):
        middle, half = (np.array(shape.start) + shape.end) / 2, (np.array(shape.end) - shape.start) / 2
        return [(middle + s * half / math.sqrt(3), shape.mass / 2) for s in (-1, 1)]
    r = case.matrix(matrix(shape.orientation, case.resolve, case.graph))
    corners = itertools.product((-1, 1), repeat=3)
    return [(shape.at + r @ (np.array(c) * shape.size / 2 / math.sqrt(3)), shape.mass / 8) for c in corners]


def test_shapes_without_mass_are_drawn_only(case):
    ball, drawn = Sphere(radius=1, mass=2, at=(1, 0, 0)), Box(size=(9, 9, 9), at=(5, 5, 5))
    for one, other in zip(case.weight(ball, drawn), case.weight(ball), strict=True):
        assert one == pytest.approx(other)
    mass, center, j = case.weight(drawn, mass="m", inertia=(1, 2, "a+b", 0.1, 0.2, 0.3), center=(0, "b", 0))
    assert mass == P["m"] and center == pytest.approx([0, P["b"], 0])
    assert j == pytest.approx(np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, P["a"] + P["b"]]]))


def test_derivatives_by_parameters_stay_exact(case):
    """Sizes are parameters, so a change of one must reach the inertia."""
    w = weight(Body(shapes=[Box(size=("a", "b", 1), density=5)]), case.resolve, case.graph)
    slope = case.numbers([case.graph.diff(w.tensor[2], case.graph.symbol("p", "a"))])[0]
    a, b = P["a"], P["b"]
    assert slope == pytest.approx(5 * b * (3 * a**2 + b**2) / 12)


def test_a_shape_of_unknown_inertia_is_refused(case, monkeypatch):
    class Cone(Shape, name="cone_of_a_test"):
        """Nobody knows its inertia."""

    monkeypatch.delitem(Shape._table, "cone_of_a_test")
    with pytest.raises(ModelError, match="inertia of a shape 'cone_of_a_test' is not known; give that of the body"):
        case.weight(Cone(mass=1))


def test_normalising_keeps_the_direction(case):
    q = case.numbers(normalised(tuple(case.graph.const(x) for x in (3.0, 0.0, 0.0, 4.0))))
    assert q == pytest.approx([0.6, 0, 0, 0.8])
