"""Questions to the person at an MCP client, through the protocol's elicitation: the client shows them a form."""

from typing import TYPE_CHECKING, Any

from quartet_bus import Question

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

FIELD = "answer"
YES_NO = ["yes", "no"]


def ask(task_id: str, question: Question) -> "InputRequiredResult":
    """Return the result that has the client ask its person, and call again with their answer."""
    from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

    field: dict[str, Any] = {"type": "string", "title": "Your answer"}
    if question.approval:
        field["enum"] = YES_NO
    form = ElicitRequestFormParams(
        message=question.text,
        requested_schema={"type": "object", "properties": {FIELD: field}, "required": [FIELD]},
    )
    # The state is neither secret nor a permission: whoever may call here may name any task.
    return InputRequiredResult(input_requests={question.question_id: ElicitRequest(params=form)}, request_state=task_id)


def answer_in(response: Any, *, approval: bool) -> str | None:
    """Return the person's answer to a form, None when there is none; 'no' for an approval that they dismissed."""
    from mcp_types import ElicitResult

    text = None
    if isinstance(response, ElicitResult) and response.action == "accept" and response.content is not None:
        given = response.content.get(FIELD)
        text = given.strip() if isinstance(given, str) and given.strip() else None
    return "no" if text is None and approval else text
