"""An estimate stays as it is while nothing has moved."""

import numpy as np
import pytest

from quartet_perception.pose_memory import PoseMemory, RememberedPose, ViewMemory
from quartet_perception.scene.view import Intrinsics, View

HERE = (1.0, 2.0, 0.3)


def seen(value, x=0.8, yaw=0.0, base=HERE, range_m=1.0, period=np.pi):
    return RememberedPose(value, (x, 0.0, 0.5), yaw, period, base, range_m)


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        (seen("new", x=0.806), True),
        (seen("new", x=0.815), False),
        (seen("new", yaw=np.radians(25)), True),
        (seen("new", yaw=np.radians(40)), False),
        (seen("new", yaw=np.pi - 0.1), True),
        (seen("new", yaw=1.5, period=0.0), True),
        (seen("new", base=(1.02, 2.0, 0.3)), False),
        (seen("new", base=(1.0, 2.0, 0.33)), False),
        (seen("new", base=None), False),
        (seen("new", range_m=0.5), False),
    ],
)
def test_when_the_previous_estimate_is_kept(second, kept):
    memory = PoseMemory()
    assert memory.update("can", seen("old")) == "old"
    assert memory.update("can", second) == ("old" if kept else "new")


def test_names_are_kept_apart_and_can_be_forgotten():
    memory = PoseMemory()
    memory.update("can", seen("can"))
    assert memory.update("cup", seen("cup")) == "cup"
    memory.clear()
    assert memory.update("can", seen("new")) == "new"


def picture(camera, stamp):
    return View(
        np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2), np.float32), Intrinsics(1, 1, 0, 0), np.eye(4), camera, stamp
    )


def test_pictures_from_the_same_standpoint_are_kept_together():
    memory = ViewMemory()
    front = picture("front", 100.0)
    assert memory.add(front, HERE) == []
    assert memory.add(picture("front", 101.0), HERE) == [], "the same camera's last one is replaced"
    newest = picture("front", 102.0)
    memory.add(newest, HERE)
    assert memory.add(picture("arm", 110.0), HERE) == [newest]
    assert memory.add(picture("arm", 133.0), HERE) == [], "too old"
    assert memory.add(picture("arm", 110.0), (1.02, 2.0, 0.3)) == [], "taken elsewhere"
    assert memory.add(picture("arm", 110.0), None) == []
