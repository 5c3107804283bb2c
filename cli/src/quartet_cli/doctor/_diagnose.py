"""All steps in their order."""

from collections.abc import Awaitable, Callable

from quartet_cli.doctor._bridge import check_bridge, check_rosapi
from quartet_cli.doctor._cameras import check_cameras
from quartet_cli.doctor._exam import Exam
from quartet_cli.doctor._findings import Finding, Report
from quartet_cli.doctor._frames import check_frames
from quartet_cli.doctor._gripper import check_gripper
from quartet_cli.doctor._guard import check_guard
from quartet_cli.doctor._moveit import check_moveit
from quartet_cli.doctor._nav2 import check_nav2
from quartet_cli.doctor._place import check_place
from quartet_cli.doctor._topics import check_topics
from quartet_robot_link import LinkError, Robot
from quartet_site import RobotFile, SiteFile

STEPS: dict[str, Callable[[Exam], Awaitable[None]]] = {
    "rosapi": check_rosapi,
    "topics": check_topics,
    "frames": check_frames,
    "site": check_place,
    "nav2": check_nav2,
    "moveit": check_moveit,
    "cameras": check_cameras,
    "gripper": check_gripper,
    "guard": check_guard,
}
"""After the bridge; a step may use what those before it found."""


async def diagnose(
    robot_file: RobotFile,
    site_file: SiteFile | None = None,
    *,
    patience_s: float = 3.0,
    watch_s: float = 2.0,
    on_finding: Callable[[Finding], None] | None = None,
) -> Report:
    """Look at everything that the agents will need; moves nothing. Wall times: each answer has
    `patience_s`, topics are counted for `watch_s`."""
    robot = await Robot.open(robot_file)
    exam = Exam(robot, site_file, patience_s, watch_s)
    told = 0

    def tell() -> None:
        nonlocal told
        for finding in exam.findings[told:]:
            if on_finding is not None:
                on_finding(finding)
        told = len(exam.findings)

    try:
        alive = await check_bridge(exam)
        tell()
        for name, step in STEPS.items():
            if not alive:
                exam.skip(name, "not looked at", "mend the bridge first")
            else:
                try:
                    await step(exam)
                except LinkError as error:
                    exam.wrong(name, f"the step broke off: {error}", "mend the bridge, then run this again")
                except (KeyError, TypeError, ValueError) as error:
                    exam.wrong(
                        name,
                        f"an answer has not the form that ROS 2 Jazzy gives it: {type(error).__name__}: {error}",
                        "check which ROS distribution and which versions of rosbridge and drivers the robot runs",
                    )
            tell()
    finally:
        await robot.close()
    return Report(robot=robot_file.name, bridge_url=robot_file.bridge.url, findings=exam.findings)
