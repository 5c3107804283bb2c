"""What the doctor reads from the transforms on /tf."""

import pytest

from quartet_cli.doctor.edges import Edges


def message(*edges: tuple[str, str, float]) -> dict[str, object]:
    return {
        "transforms": [
            {
                "header": {"frame_id": parent, "stamp": {"sec": int(stamp), "nanosec": round(stamp % 1 * 1e9)}},
                "child_frame_id": child,
            }
            for parent, child, stamp in edges
        ]
    }


def test_healthy_transforms_have_no_faults() -> None:
    edges = Edges()
    for step in range(30):
        now = 100.0 + step / 30
        edges.add(message(("map", "odom", now + 1.0), ("/odom", "/base", now - 0.02)), now)
    assert edges.faults(["/amcl", "/base"]) == []


def test_two_odometries() -> None:
    edges = Edges()
    times = [(n / 30, n / 30) for n in range(10)] + [(n / 50 + 0.001, n / 50 + 0.001 - 0.06) for n in range(16)]
    for at, stamp in sorted(times):
        edges.add(message(("odom", "base_footprint", 100.0 + stamp)), 100.0 + at)
    [(what, remedy)] = edges.faults(["/base_driver", "/ekf"])
    assert what.startswith("two nodes publish the transform odom -> base_footprint: the stamps go back ")
    assert "/base_driver, /ekf" in remedy
    assert "publish_tf" in remedy


def test_two_parents() -> None:
    edges = Edges()
    edges.add(message(("odom", "base", 100.0), ("map", "base", 100.0)), 100.0)
    [(what, _)] = edges.faults([])
    assert what == "two nodes publish the transform ... -> base: its parents are odom and map"


def test_the_reset_of_a_simulation_is_one_step_back() -> None:
    edges = Edges()
    for stamp in (5.0, 5.1, 0.0, 0.1):
        edges.add(message(("odom", "base", stamp)), stamp)
    assert edges.faults([]) == []


@pytest.mark.parametrize(("off", "words"), [(30.0, "30.0 s behind"), (-5.0, "5.0 s ahead of")])
def test_stamps_of_another_time(off: float, words: str) -> None:
    edges = Edges()
    edges.add(message(("map", "odom", 100.0 - off), ("odom", "base", 99.95)), 100.0)
    [(what, remedy)] = edges.faults([])
    assert what == f"the stamps of map -> odom are {words} the robot's clock"
    assert "chrony" in remedy
