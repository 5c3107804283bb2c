"""Rigid transforms against matrices."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quartet_robot_link import Rigid, Transform
from quartet_robot_link.geometry import angle_between, slerp, unit, wrap, yaw_quaternion

number = st.floats(-5, 5, allow_nan=False)
vector = st.tuples(number, number, number)


@st.composite
def rigids(draw) -> Rigid:
    q = draw(st.tuples(number, number, number, number))
    assume(math.hypot(*q) > 0.1)
    return Rigid(draw(vector), unit(q))


def matrix(rigid: Rigid):
    return Transform("a", "b", rigid, 0.0).matrix


@given(rigids(), rigids(), vector)
def test_products_are_those_of_matrices(a, b, point):
    assert np.allclose(matrix(a @ b), matrix(a) @ matrix(b), atol=1e-9)
    assert np.allclose(matrix(a.inverse()) @ matrix(a), np.eye(4), atol=1e-9)
    assert np.allclose(a.apply(point), (matrix(a) @ [*point, 1])[:3], atol=1e-9)


@given(rigids())
def test_matrix_is_a_rotation(a):
    r = matrix(a)[:3, :3]
    assert np.allclose(r @ r.T, np.eye(3), atol=1e-9)
    assert np.linalg.det(r) == pytest.approx(1)


@given(st.floats(-10, 10))
def test_yaw(yaw):
    found = Transform("a", "b", Rigid((0, 0, 0), yaw_quaternion(yaw)), 0.0).yaw
    assert math.remainder(found - yaw, 2 * math.pi) == pytest.approx(0, abs=1e-9)
    assert -math.pi < wrap(yaw) <= math.pi
    assert math.remainder(wrap(yaw) - yaw, 2 * math.pi) == pytest.approx(0, abs=1e-9)


@given(rigids(), rigids(), st.floats(0, 1))
def test_slerp_divides_the_angle(a, b, fraction):
    whole = angle_between(a.rotation, b.rotation)
    assume(whole < math.pi - 1e-3)
    mixed = slerp(a.rotation, b.rotation, fraction)
    assert math.hypot(*mixed) == pytest.approx(1)
    assert angle_between(a.rotation, mixed) == pytest.approx(whole * fraction, abs=2e-3)
