"""How far the sensors of a simulated robot are from perfect."""

from typing import Final, Literal

SensorLevel = Literal["clean", "typical", "harsh"]
"""docs/perception.md has the numbers of each."""
DEFAULT_SENSORS: Final = "typical"
"""What everything runs with that names no level: `clean` flatters."""
