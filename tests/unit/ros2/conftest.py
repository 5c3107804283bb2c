"""The guard's plain modules are imported from its ROS package, as colcon would install it."""

import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[3] / "deploy" / "ros2" / "quartet_bringup"

if str(PACKAGE) not in sys.path:
    sys.path.append(str(PACKAGE))
