"""The stop button: straight to the robot guard and every server, past the store, the models and the orchestrator."""

from quartet_stop.app import create_app
from quartet_stop.endpoint import Endpoint
from quartet_stop.robot import RobotStop
from quartet_stop.settings import Settings

__all__ = ["Endpoint", "RobotStop", "Settings", "create_app"]
