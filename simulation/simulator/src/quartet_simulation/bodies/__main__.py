"""`python -m quartet_simulation.bodies BODY`: print the resume of a body as JSON; `quartet resume` runs it.

Exit status 0 when done, 1 when the body cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from quartet_simulation.bodies.load import find_body
from quartet_simulation.bodies.resume import resume_of
from quartet_simulation.errors import SimulationError
from quartet_site import rendered


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m quartet_simulation.bodies", description=__doc__)
    parser.add_argument("body", help="name of a robot, a folder, body.yaml, robot.yaml or a model file")
    parser.add_argument("--robots", type=Path, default=Path("deploy/robots"), help="folder of the robots with a name")
    parser.add_argument("--seed", type=int, default=0, help="which poses are drawn")
    given = parser.parse_args(argv)
    try:
        print(rendered(resume_of(find_body(given.body, given.robots), given.seed), "json"))
    except SimulationError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
