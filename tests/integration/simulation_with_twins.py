"""The simulation with one more world, `twins`: the studio with a second can that looks like the first.

Only ground truth tells them apart; site.yaml, and so the robot, knows one kind of can.
"""

import sys
from dataclasses import replace

from quartet_simulation.__main__ import main
from quartet_simulation.worlds import WORLDS
from quartet_simulation.worlds.objects import CATALOGUE

CAN, TWIN = "red coke can", "second red coke can"

if __name__ == "__main__":
    studio = WORLDS["studio"]
    CATALOGUE[TWIN] = replace(CATALOGUE[CAN], name=TWIN)
    WORLDS["twins"] = replace(studio, name="twins", homes={**studio.homes, TWIN: ("counter", "wooden table")})
    sys.exit(main())
