"""Runs the guard once for each command line that comes as JSON on stdin, each in a fork of its own, so that rclpy is
loaded once; prints exit status and stderr of each as JSON. For guards that refuse to start.
"""

import json
import os
import signal
import sys
import tempfile
import traceback

from quartet_bringup.guard.__main__ import main

PATIENCE_S = 60


def run(arguments: list[str], stderr: int) -> int:
    """In the fork."""
    signal.alarm(PATIENCE_S)
    os.dup2(stderr, 2)
    sys.argv = ["robot_guard", *arguments]
    try:
        return main()
    except BaseException:
        traceback.print_exc()
        return 1


results = []
for case in json.load(sys.stdin):
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if not child:
            os._exit(run(case, said.fileno()))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        results.append([status, said.read()])
json.dump(results, sys.stdout)
