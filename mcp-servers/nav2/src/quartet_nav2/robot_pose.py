"""Metrics of the robot itself: its pose and its battery."""

from quartet_tool_server import ToolServer
from quartet_tool_server import metrics as names


def register(server: ToolServer) -> None:
    """Measure both whenever somebody asks; nothing is subscribed before."""

    def measure() -> None:
        robot = server.robot
        robot.battery.start()
        if (pose := robot.last_base_pose()) is not None:
            for name, value in ((names.POSE_X, pose.x), (names.POSE_Y, pose.y), (names.POSE_YAW, pose.yaw)):
                server.metrics.set(name, value)
        if (ratio := robot.battery.ratio) is not None:
            server.metrics.set(names.BATTERY, ratio)

    server.gauges.append(measure)
