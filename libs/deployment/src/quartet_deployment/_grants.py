"""Signs grants for clients that are not one of the agents."""

import time
import uuid
from collections.abc import Iterable

import jwt

from quartet_contracts import ALGORITHM, MODEL_AUDIENCE, GrantClaims, audience


def sign_grant(
    private_key: str,
    robot: str | None,
    tools: Iterable[str] = (),
    *,
    name: str = "client",
    fence: int = 0,
    seconds: int = 600,
    beats: bool = False,
    task: str = "",
) -> str:
    """Return a token with which `name` may call `tools` (`<server>__<tool>`) of `robot` for `seconds` from now.

    Without a robot it is one for asking the model gateway, which every grant for a robot allows too.
    `private_key` is PEM. With `beats` the client sends heartbeats while it moves the robot. Raises ValueError for a
    key or a claim that cannot be used. `task`: to which model usage is charged.
    """
    now = int(time.time())
    claims = GrantClaims(
        sub=name,
        aud=MODEL_AUDIENCE if robot is None else audience(robot),
        iat=now,
        exp=now + seconds,
        jti=f"{name}-{uuid.uuid4().hex[:12]}",
        fence=fence,
        tools=sorted(set(tools)),
        beats=beats,
        task=task,
    )
    try:
        return jwt.encode(claims.model_dump(), private_key, algorithm=ALGORITHM)
    except jwt.InvalidKeyError as error:
        raise ValueError(f"the key is not an Ed25519 private key in PEM: {error}") from error
