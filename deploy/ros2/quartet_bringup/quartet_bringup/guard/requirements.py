"""The rclpy that the robot needs, and the one that is installed."""

import contextlib
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
NOT_FOUND = "neither rclpy's package.xml nor the metadata of a Python package ros-rclpy or rclpy tells its version"
REMEDY = "sudo apt update && sudo apt install --only-upgrade ros-jazzy-rclpy"


def installed_version() -> tuple[str, str] | None:
    """Return rclpy's version and what tells it, None when nothing does.

    package.xml and the metadata of the Python package are both looked at, since either may lag behind: the metadata in
    a ROS installation, package.xml in wheels. The higher one is right.
    """
    found: list[tuple[str, str]] = []
    try:
        from ament_index_python.packages import get_package_share_directory

        file = Path(get_package_share_directory("rclpy")) / "package.xml"
        found.append(((ElementTree.parse(file).findtext("version") or "").strip(), str(file)))
    except (ImportError, LookupError, OSError, ElementTree.ParseError):
        pass
    for distribution in ("ros-rclpy", "rclpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(distribution)
            found.append((version, f"the metadata of the Python package {distribution}"))
    return max(found, key=lambda told: _numbers(told[0]), default=None)


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(map(int, match.groups())) if match else ()


def check(installed: tuple[str, str] | None) -> None:
    """Raise OldRclpyError unless the version, of `installed_version`, will do."""
    version, told_by = installed or ("", "")
    if _numbers(version) >= MINIMUM:
        return
    known = f"rclpy {version or 'of unknown version'} is installed, by {told_by}" if told_by else NOT_FOUND
    raise OldRclpyError(
        f"{known}; {'.'.join(map(str, MINIMUM))} or newer is needed. {WHY}. Upgrade it: {REMEDY}; the wheels of "
        "ros-jazzy-rclpy on PyPI are older, so that a robot needs ROS's own packages. Where no rosbridge runs with "
        "this rclpy, as in a test, allow_old_rclpy:=true lets the guard start."
    )
