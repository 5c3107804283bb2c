"""Commands as README.md and docs/ have them, tried word for word."""

import re
from pathlib import Path

from .deployment import ROOT, Deployment, run

_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_VOLUME = "quartet_redis-data"
"""As the documents have it: with the project's name, which docker-compose.yml gives."""


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    """The shell commands of a page, block by block."""
    return _BLOCK.findall(page.read_text())


def block(page: str, words: str) -> str:
    """The only block of a page with these words. Raises AssertionError for none and for several."""
    found = [one for one in blocks(ROOT / page) if words in one]
    assert len(found) == 1, f"{page} has {len(found)} blocks with '{words}'"
    return found[0]


def do(deployment: Deployment, commands: str, folder: Path = ROOT) -> str:
    """What a shell in `folder` prints of `commands`, with `deployment` in the place of the project `quartet`."""
    files = ":".join(str(file) for file in deployment.files)
    env = {
        **deployment.env,
        "COMPOSE_FILE": files,
        "COMPOSE_PROJECT_NAME": deployment.project,
        "COMPOSE_ENV_FILES": "/dev/null",
    }
    ours = commands.replace(_VOLUME, f"{deployment.project}_redis-data")
    return run("bash", "-euo", "pipefail", "-c", ours, env=env, cwd=folder)
