"""A check of the configured models by the gateway's own code, in a process that alone has the providers' keys."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quartet_deployment._environment import gateway_environment, public_environment, read_dotenv
from quartet_deployment._project import project_root
from quartet_deployment.errors import OptionError


def check_models(record: Path | None = None) -> Iterator[dict[str, Any]]:
    """Ask each model that `quartet up` would use a few short questions; yield each finding as it comes.

    Args:
        record: Folder for requests and answers, without secrets; None: they are not kept.

    Yields:
        `{"finding": {...}}` for each step, `{"recorded": path}` for each file, `{"used": {...}}` at the end.

    Raises:
        OptionError: The gateway's file, a setting or `record` cannot be used.
    """
    environment = {
        **public_environment(),
        "QUARTET_GATEWAY_FILE": str(project_root() / "deploy" / "gateway.yaml"),
        **gateway_environment(read_dotenv(project_root() / ".env")),
    }
    options = [] if record is None else ["--record", str(record.resolve())]
    argv = [sys.executable, "-m", "quartet_gateway.probe", *options]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                yield json.loads(line)
            said = process.stderr.read().strip()
        except BaseException:
            process.terminate()
            raise
    if process.returncode not in {os.EX_OK, 1} or (process.returncode == 1 and "Traceback" in said):
        raise OptionError(f"the models could not be checked: {said or f'status {process.returncode}'}")
