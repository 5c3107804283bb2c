"""Exceptions to codes, in one place."""

import pytest

import quartet_tool_server
from quartet_contracts.tools.moveit import MoveitCode
from quartet_robot_link import (
    ActionUnavailableError,
    BridgeUnavailableError,
    CallTimeoutError,
    CameraUnavailableError,
    GoalRejectedError,
    RobotLinkError,
    RosError,
    ServiceUnavailableError,
    TransformUnavailableError,
)
from quartet_safety.motion import BusyError, CanceledError, FencedError, StoppedError
from quartet_tool_server import (
    DeniedError,
    InvalidArgumentsError,
    ToolError,
    as_tool_result,
    failure,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BridgeUnavailableError, "BRIDGE_UNAVAILABLE"),
        (CallTimeoutError, "TIMEOUT"),
        (TransformUnavailableError, "TRANSFORM_UNAVAILABLE"),
        (CameraUnavailableError, "CAMERA_UNAVAILABLE"),
        (RosError, "ROS_ERROR"),
        (ServiceUnavailableError, "ROS_ERROR"),
        (ActionUnavailableError, "ROS_ERROR"),
        (GoalRejectedError, "ROS_ERROR"),
        (InvalidArgumentsError, "INVALID_PARAMETERS"),
        (BusyError, "BUSY"),
        (CanceledError, "CANCELED"),
        (StoppedError, "STOPPED"),
        (DeniedError, "DENIED"),
        (FencedError, "FENCED"),
    ],
)
def test_each_error_has_its_code(error, code):
    assert failure(error("what happened")) == {"ok": False, "error_code": code, "message": "what happened"}


def test_every_error_of_the_link_is_mapped(caplog):
    def below(kind):
        return [kind, *(k for child in kind.__subclasses__() for k in below(child))]

    for kind in below(RobotLinkError)[1:]:
        assert failure(kind("x"))["error_code"] != "UNKNOWN"
    assert not caplog.records


def test_a_failure_carries_its_own_code_and_fields():
    error = ToolError("no", code=MoveitCode.OUT_OF_REACH, moveit_error_code=-31)
    assert failure(error) == {"ok": False, "error_code": "OUT_OF_REACH", "message": "no", "moveit_error_code": -31}


def test_a_fault_of_the_server_is_unknown_and_logged(caplog):
    result = failure(KeyError("x"), tool="spin_robot")
    assert result["error_code"] == "UNKNOWN"
    assert "KeyError" in result["message"]
    assert "spin_robot" in caplog.text
    assert "KeyError: 'x'" in caplog.text


def test_results_are_rounded_and_carry_images_after_the_text():
    result = as_tool_result({"ok": True, "x": 1 / 3, "deep": [{"y": 2 / 3}], "n": 3}, [(b"abc", "image/jpeg")])
    assert result.structured_content == {"ok": True, "x": 0.33333, "deep": [{"y": 0.66667}], "n": 3}
    text, image = (block.model_dump() for block in result.content)
    assert (text["type"], image["type"]) == ("text", "image")
    assert text["text"] == '{"ok":true,"x":0.33333,"deep":[{"y":0.66667}],"n":3}'
    assert image["data"] == "YWJj"


def test_everything_offered_exists():
    for name in quartet_tool_server.__all__:
        assert getattr(quartet_tool_server, name) is not None
