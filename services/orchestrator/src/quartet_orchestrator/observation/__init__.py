"""Read-only calls to the servers of the robots: cameras, poses, health."""

from quartet_orchestrator.observation.client import CameraClient, ObserverSessions, ToolReader
from quartet_orchestrator.observation.fleet import Fleet, RobotState
from quartet_orchestrator.observation.monitor import CAMERAS, Reading, RobotMonitor
from quartet_orchestrator.observation.stops import StopMonitor

__all__ = [
    "CAMERAS",
    "CameraClient",
    "Fleet",
    "ObserverSessions",
    "Reading",
    "RobotMonitor",
    "RobotState",
    "StopMonitor",
    "ToolReader",
]
