"""The only way to a robot's rosbridge: asks for a token, and lets only what the robot's servers need pass."""

from quartet_bridge_proxy.proxy import BridgeProxy, Limits
from quartet_bridge_proxy.settings import Settings

__all__ = ["BridgeProxy", "Limits", "Settings"]
