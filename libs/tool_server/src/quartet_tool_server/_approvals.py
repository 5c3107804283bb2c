"""A person's word on a call: asked for with MCP's input_required result, given as a signed decision, used once."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import InputRequiredToolResult
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from quartet_contracts import ISSUER, GrantClaims
from quartet_contracts.approvals import (
    DECISION_FIELD,
    EXPIRES_AT,
    SECONDS_LEFT,
    ApprovalClaims,
    approval_audience,
    arguments_digest,
)
from quartet_process import InvalidTokenError, boot_time
from quartet_process.signatures import read_token
from quartet_tool_server.errors import ApprovalDeniedError, InputRequiredError

MOST_PENDING = 100
"""Calls that wait for a person; the oldest is forgotten beyond."""


@dataclass(frozen=True)
class _Pending:
    """A call that waits."""

    agent: str
    request_id: str
    tool: str
    digest: str
    until: float
    """End of the wait, as boot_time() counts [s]."""


class PendingApprovals:
    """The calls of one server that wait for a person. After a restart of the server they are asked again.

    `keys` are the orchestrator's public keys; with none no decision is valid.
    """

    def __init__(self, robot: str, keys: Sequence[Ed25519PublicKey], wait_s: float) -> None:
        self._robot, self._keys, self._wait_s = robot, keys, wait_s
        self._pending: dict[str, _Pending] = {}

    def ask(self, grant: GrantClaims, tool: str, arguments: Mapping[str, Any], because: str) -> InputRequiredToolResult:
        """The result that asks for a person's word on this call. Raises InputRequiredError for a client that cannot."""
        if not _can_ask():
            raise InputRequiredError(
                f"a person must allow {tool} first: {because}. This client's MCP version has no input_required result; "
                "connect with MCP 2026-07-28 or later, or have a person change the policy. Nothing moved."
            )
        approval_id = f"a-{secrets.token_hex(12)}"
        expires_at = time.time() + self._wait_s
        until = boot_time() + self._wait_s
        self._pending[approval_id] = _Pending(grant.sub, grant.jti, tool, arguments_digest(arguments), until)
        for old in list(self._pending)[:-MOST_PENDING]:
            del self._pending[old]
        form = ElicitRequestFormParams(
            message=because,
            requested_schema={
                "type": "object",
                "properties": {
                    DECISION_FIELD: {
                        "type": "string",
                        "title": "Signed decision",
                        "description": f"JWT of the orchestrator for approval {approval_id}",
                    }
                },
                "required": [DECISION_FIELD],
            },
        )
        return InputRequiredToolResult(
            InputRequiredResult(
                input_requests={approval_id: ElicitRequest(params=form)},
                _meta={EXPIRES_AT: expires_at, SECONDS_LEFT: self._wait_s},
            )
        )

    def settle(self, grant: GrantClaims, tool: str, arguments: Mapping[str, Any], responses: Mapping[str, Any]) -> None:
        """Returns when one of `responses` allows this very call; it is used up. Raises ApprovalDeniedError."""
        approval_id = next((key for key in responses if key in self._pending), None)
        if approval_id is None:
            raise ApprovalDeniedError(
                f"no decision on {tool} is waited for under {', '.join(responses) or 'no id'}: it was used already, "
                "has expired, or the server was started anew. Nothing moved."
            )
        waiting = self._pending.pop(approval_id)
        claims = self._read(approval_id, responses[approval_id])
        wanted = (waiting.agent, waiting.request_id, waiting.tool, waiting.digest)
        decided = (claims.sub, claims.request_id, claims.tool, claims.arguments_sha256)
        called = (grant.sub, grant.jti, tool, arguments_digest(arguments))
        if not wanted == decided == called:
            raise ApprovalDeniedError(
                f"the decision {approval_id} is for another call, not for this one. Nothing moved."
            )
        if waiting.until < boot_time():
            raise ApprovalDeniedError(f"the decision on {tool} came too late. Nothing moved.")
        if claims.decision != "allow":
            words = f": {claims.reason}" if claims.reason else ""
            raise ApprovalDeniedError(f"a person did not allow {tool}{words}. Nothing moved; do not ask for it again.")

    def _read(self, approval_id: str, response: Any) -> ApprovalClaims:
        """The claims of a form that was filled in. Raises ApprovalDeniedError."""
        form = response if isinstance(response, ElicitResult) else None
        token = None if form is None or form.content is None else form.content.get(DECISION_FIELD)
        if form is None or form.action != "accept" or not isinstance(token, str):
            raise ApprovalDeniedError("no person allowed the call. Nothing moved.")
        try:
            # No clock is compared: the id is this process's own and new, and `until` counts how long it waits.
            keys = ((key, ISSUER) for key in self._keys)
            raw = read_token(token, keys, approval_audience(self._robot), timed=False)
            claims = ApprovalClaims.model_validate(raw)
        except (InvalidTokenError, ValidationError) as error:
            raise ApprovalDeniedError(f"the decision is not valid here ({str(error)[:300]}). Nothing moved.") from error
        if claims.jti != approval_id:
            raise ApprovalDeniedError(f"the decision is for approval {claims.jti}, not {approval_id}. Nothing moved.")
        return claims


def _can_ask() -> bool:
    """Whether the connection of the running call knows the input_required result."""
    context = get_context().request_context
    return context is not None and context.protocol_version in MODERN_PROTOCOL_VERSIONS
