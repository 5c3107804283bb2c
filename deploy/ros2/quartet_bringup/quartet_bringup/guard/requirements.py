"""The rclpy that the robot needs, and the one that is installed."""

import importlib.metadata
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from quartet_bringup.errors import OldRclpyError

MINIMUM = (7, 1, 10)
WHY = (
    "Before 7.1.10 an executor that meets a destroyed client or subscription raises and stops spinning "
    "(ros2/rclpy issue 1284, mended by 1590), and 7.1.9 sets the result of a future twice (issue 1598): rosbridge, "
    "which creates and destroys them all the time, then accepts connections and answers nothing"
)
REMEDY = "sudo apt update && sudo apt install --only-upgrade ros-jazzy-rclpy"


def installed_version() -> str | None:
    """Return rclpy's version by the package.xml that came with it, or by its wheel; None when neither is found.

    The version in the metadata of a ROS installation's Python package may lag behind its package.xml.
    """
    try:
        from ament_index_python.packages import get_package_share_directory

        found = ElementTree.parse(Path(get_package_share_directory("rclpy")) / "package.xml").findtext("version")
        if found:
            return found.strip()
    except (ImportError, LookupError, OSError, ElementTree.ParseError):
        pass
    for distribution in ("ros-rclpy", "rclpy"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def check(version: str | None) -> None:
    """Raise OldRclpyError unless the version will do."""
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if numbers is None or tuple(map(int, numbers.groups())) < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise OldRclpyError(
            f"rclpy {version or 'of unknown version'} is installed, {wanted} or newer is needed. {WHY}. "
            f"Upgrade it: {REMEDY}. Where no rosbridge runs with it, allow_old_rclpy:=true lets the guard start."
        )
