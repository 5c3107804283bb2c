"""Grant: signed permission of one agent to use tools of one robot for one attempt."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from quartet_contracts.messages import Identifier, Model

ISSUER = "quartet-orchestrator"
ALGORITHM = "EdDSA"


ROBOT_AUDIENCE = "robot:"
"""How the audience claim of a robot's servers begins, before its name."""


class GrantClaims(Model):
    """Claims of the signed token (JWT, Ed25519)."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    iss: str = ISSUER
    sub: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
    """The agent: approach, pick, place, orchestrator, or a name given to a foreign client."""
    aud: str
    """`robot:<name>`: the servers of one robot."""
    exp: int
    iat: int
    jti: Identifier
    """The request id."""
    fence: Annotated[int, Field(ge=0)]
    """A server refuses any fence below the highest that it has persisted."""
    tools: list[str]
    """`<server>__<tool>` names; a call of any other is refused."""
    beats: bool = False
    """Whether the caller sends heartbeats while it moves the robot; its motion ends when they stop."""
    task: Annotated[str, Field(max_length=128)] = ""
    """Task of the request, to which model usage is charged. '' for a foreign client."""


def audience(robot: str) -> str:
    """Return the audience claim of a robot's servers."""
    return f"{ROBOT_AUDIENCE}{robot}"


MODEL_AUDIENCE = "gateway"
"""Audience claim of the orchestrator's own token for the model gateway, which no robot's server accepts."""
GRANT_HEADER = "X-Quartet-Grant"
"""HTTP header of a request to the model gateway: the grant under which a model is asked."""
OUT_OF_TIME = "grant_out_of_time"
"""Error code of the gateway, and of a server's control endpoint, for a grant that has expired, or is not valid yet, by
their clock."""
TASK_HEADER = "X-Quartet-Task"
"""HTTP header of a request to the model gateway: the task to which usage is charged, which is that of the grant."""
KEEPALIVE_HEADER = "X-Quartet-Keepalive"
"""HTTP header of the answers of tool servers and model gateway: the longest time without a byte while a call runs [s].

Whoever asks the gateway for it sends the header, too; the value is ignored.
"""
FENCE_SCOPE = "control__fence"
"""In `tools` of the orchestrator's own grant: may install a fence."""
STOP_SCOPE = "control__stop"
"""In `tools`: may bring the robot to a standstill."""
RESET_SCOPE = "control__reset"
"""In `tools`: may reset a stopped server, so that it moves the robot again."""
STOP_ISSUER = "quartet-stop"
"""Issuer of the stop service's own grants; its key signs STOP_SCOPE and RESET_SCOPE and nothing else."""


def control_url(mcp_url: str, what: str) -> str:
    """Return the control endpoint `what` (fence, stop, reset, beat) of the server whose MCP endpoint is `mcp_url`."""
    return f"{_root(mcp_url)}/control/{what}"


def health_url(mcp_url: str) -> str:
    """Return the health endpoint of the server whose MCP endpoint is `mcp_url`."""
    return f"{_root(mcp_url)}/health"


def _root(mcp_url: str) -> str:
    parts = urlsplit(mcp_url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/').removesuffix('/mcp')}"
