"""A gripper that services or a topic command opens by its own tools only, whatever the site lists."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quartet_ros.permits import service_permit, topic_permit
from quartet_site import Gripper, RosWrites, load_robot
from quartet_tool_server import DeniedError

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio" / "robot.yaml"
FLOAT, TRIGGER = "std_msgs/msg/Float64", "std_srvs/srv/Trigger"
LISTED = {
    "topics": [{"name": "/hand/command", "type": FLOAT}, {"name": "/lamp", "type": FLOAT}],
    "services": [{"name": name, "type": TRIGGER} for name in ("/hand/open", "/hand/close", "/lamp/on")],
}


def server(**gripper: Any) -> Any:
    """Return what the permits read of a server: a robot with this gripper, and a site that lists everything."""
    file = load_robot(STUDIO).model_copy(update={"gripper": Gripper.model_validate(gripper)})
    site = SimpleNamespace(name="studio", ros_writes=RosWrites.model_validate(LISTED))
    return SimpleNamespace(robot=SimpleNamespace(file=file), site=site)


@pytest.mark.parametrize("name", ["/hand/command", "hand/command"])
def test_a_topic_of_the_gripper_is_not_written(name):
    commanded = server(command="Float64", command_topic=name)
    with pytest.raises(DeniedError, match=r"'/hand/command' commands the gripper; call moveit__open_gripper"):
        topic_permit(commanded, "hand/command", FLOAT)
    assert topic_permit(commanded, "/lamp", FLOAT).name == "/lamp"


def test_services_of_the_gripper_are_not_called():
    commanded = server(command="Trigger", close_service="/hand/close", open_service="hand/open")
    for name in ("/hand/open", "/hand/close"):
        with pytest.raises(DeniedError, match=f"'{name}' commands the gripper"):
            service_permit(commanded, name, TRIGGER)
    assert service_permit(commanded, "/lamp/on", TRIGGER).name == "/lamp/on"
