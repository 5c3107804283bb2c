"""Errors of quartet_bringup. Each text names what cannot be used, its value and what is valid.

BringupError
├── RobotFileError         robot.yaml cannot be used
├── LaunchArgumentError    a launch argument cannot be used
├── ParameterError         a ROS parameter of the guard cannot be used
└── OldRclpyError          the rclpy of this machine is too old, or its version cannot be told
"""


class BringupError(Exception):
    """Root of the errors of this package."""


class RobotFileError(BringupError):
    """robot.yaml cannot be used."""


class LaunchArgumentError(BringupError):
    """A launch argument cannot be used."""


class ParameterError(BringupError):
    """A ROS parameter of the guard cannot be used."""


class OldRclpyError(BringupError):
    """The rclpy of this machine is too old, or its version cannot be told."""
