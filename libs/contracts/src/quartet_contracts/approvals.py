"""Approvals: a person's decision on one call of one tool, signed by the orchestrator.

A server whose policy demands a person's approval of a call answers with MCP's input_required result. It holds one form
request, whose key is the approval id. The client calls again with an ElicitResult under that key; `accept` carries
`{"decision": token}`, where the token is a JWT (Ed25519) with ApprovalClaims. The decision fits that one call only:
the same grant, tool and arguments, and no second use.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field

from quartet_contracts._grants import ISSUER
from quartet_contracts.messages import Identifier, Message, Model, Seconds

DECISION_FIELD = "decision"
"""Field of the form in which the signed decision comes back."""
EXPIRES_AT = "quartet/expires_at"
"""In `_meta` of the result: seconds since the epoch, by the server's clock, after which no decision is accepted."""
SECONDS_LEFT = "quartet/seconds_left"
"""In `_meta` of the result: how long a decision is accepted from now on [s]. A client goes by this one, since its clock
and the server's may differ."""
RUN_PROGRAM = "executor__run_program"
"""In place of a tool: what the executor asks about, where the policy wants a person's word on each program."""
CONFIRM_OBJECT = "approach__confirm_object"
"""In place of a tool: the approach agent asks whether what a picture shows is the object that it looks for. Arguments:
`object_name`, `area`, and `image`, the reference of the picture."""
CONFIRM_WAIT_S = 60.0
"""Time that one request waits for persons about objects, in all [s]."""
YES = frozenset({"yes", "y", "ok", "okay", "allow", "approve", "accept"})
"""Whole answers that allow a call, or confirm an object."""
NO = frozenset({"no", "n", "nope", "deny", "refuse", "reject"})
"""Whole answers that refuse a call, or reject an object."""
Text = Annotated[str, Field(max_length=2000)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ApprovalClaims(Model):
    """Claims of the signed decision."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    iss: str = ISSUER
    sub: str
    """The agent whose call it is."""
    aud: str
    """`approval:<robot>`; a decision is no grant, and a grant is no decision."""
    exp: int
    iat: int
    jti: Identifier
    """The approval id that the server gave."""
    request_id: Identifier
    """`jti` of the grant that the call carries."""
    tool: str
    """`<server>__<tool>`."""
    arguments_sha256: Digest
    decision: Literal["allow", "deny"]
    reason: Text = ""
    """Reason that the person gives."""


class ApprovalRequest(Message):
    """Request of an agent for a person's approval of a call that a server has deferred."""

    approval_id: Identifier
    request_id: Identifier
    task_id: Identifier
    robot: Identifier
    agent: Annotated[str, Field(max_length=32)]
    tool: Annotated[str, Field(max_length=200)]
    arguments: dict[str, Any]
    because: Text = ""
    """Reason that the server gives for asking a person."""
    expires_at: Seconds


class ApprovalDecision(Message):
    """The orchestrator's answer to an ApprovalRequest."""

    approval_id: Identifier
    allowed: bool
    reason: Text = ""
    answer: Text | None = None
    """The person's words; None if nobody answered."""
    token: Annotated[str, Field(max_length=4000)]
    """ApprovalClaims, signed."""


def parse_answer(answer: str | None) -> bool | None:
    """Return whether a person's whole answer is yes or no; None for any other answer, such as "no, not sure"."""
    word = (answer or "").strip(" .!'\"").casefold()
    return True if word in YES else False if word in NO else None


def approval_audience(robot: str) -> str:
    """Return the audience claim of a decision for a robot's servers."""
    return f"approval:{robot}"


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the arguments as canonical JSON: sorted keys, no spaces, whole numbers without a fraction.

    1 and 1.0 are the same number in JSON, and give the same digest.
    """
    text = json.dumps(_canonical(arguments), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in cast("list[Any]", value)]
    return value
