"""Which rclpy the robot needs, and which one is here."""

import importlib.metadata
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

MINIMUM = (7, 1, 10)
WHY = (
    "Before 7.1.10 an executor that meets a destroyed client or subscription raises and stops spinning "
    "(ros2/rclpy issue 1284, mended by 1590), and 7.1.9 sets the result of a future twice (issue 1598): rosbridge, "
    "which creates and destroys them all the time, then accepts connections and answers nothing"
)
REMEDY = "sudo apt update && sudo apt install --only-upgrade ros-jazzy-rclpy"


class OldRclpy(RuntimeError):
    """The rclpy of this machine is too old, or its version cannot be told."""


def installed_version() -> str | None:
    """Of the package.xml that came with rclpy, or of its wheel; None when neither is found.

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
    """Raises OldRclpy, whose text says why and what to do."""
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if numbers is None or tuple(map(int, numbers.groups())) < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        raise OldRclpy(
            f"rclpy {version or 'of unknown version'} is installed, {wanted} or newer is needed. {WHY}. "
            f"Upgrade it: {REMEDY}. Where no rosbridge runs with it, allow_old_rclpy:=true lets the guard start."
        )
