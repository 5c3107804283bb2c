"""All checks in their order."""

from collections.abc import Awaitable, Callable

from quartet_cli.doctor.bridge import check_bridge, check_rosapi
from quartet_cli.doctor.cameras import check_cameras
from quartet_cli.doctor.examination import Examination, Finding, Report
from quartet_cli.doctor.frames import check_frames, check_site
from quartet_cli.doctor.gripper import check_gripper
from quartet_cli.doctor.guard import check_guard
from quartet_cli.doctor.moveit import check_moveit
from quartet_cli.doctor.nav2 import check_nav2
from quartet_cli.doctor.topics import check_topics
from quartet_process import without_password
from quartet_robot_link import Robot, RobotLinkError
from quartet_site import RobotFile, SiteFile

STEPS: dict[str, Callable[[Examination], Awaitable[None]]] = {
    "rosapi": check_rosapi,
    "topics": check_topics,
    "frames": check_frames,
    "site": check_site,
    "nav2": check_nav2,
    "moveit": check_moveit,
    "cameras": check_cameras,
    "gripper": check_gripper,
    "guard": check_guard,
}
"""The checks after that of the bridge; each may use what those before it found."""


async def diagnose(
    robot_file: RobotFile,
    site_file: SiteFile | None = None,
    *,
    token: str | None = None,
    patience_s: float = 3.0,
    watch_s: float = 2.0,
    on_finding: Callable[[Finding], None] | None = None,
) -> Report:
    """Check everything that the agents will need; nothing moves.

    `token` is that of a bridge proxy. Each answer of the robot has `patience_s`, the messages of topics are counted for
    `watch_s` [s, wall].
    """
    robot = await Robot.open(robot_file, token=lambda: token)
    exam = Examination(robot, site_file, patience_s, watch_s)
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
                exam.skip(name, "not checked", "fix the bridge first")
            else:
                try:
                    await step(exam)
                except RobotLinkError as error:
                    exam.wrong(name, f"the check was interrupted: {error}", "fix the bridge, then run this again")
                except (KeyError, TypeError, ValueError) as error:
                    exam.wrong(
                        name,
                        f"an answer does not have the form of ROS 2 Jazzy: {type(error).__name__}: {error}",
                        "check which ROS distribution and which versions of rosbridge and drivers the robot runs",
                    )
            tell()
    finally:
        await robot.close()
    return Report(robot=robot_file.name, bridge_url=without_password(robot_file.bridge.url), findings=exam.findings)
