"""Client of the model gateway: OpenAI's chat format over HTTP."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, cast

import httpx2

from quartet_agent_runtime import _metrics as metrics
from quartet_agent_runtime._arguments import is_text
from quartet_agent_runtime._http import (
    CLOCK_PATIENCE_S,
    CONNECT_TIMEOUT_S,
    is_out_of_time,
    note_keepalive,
    open_client,
)
from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._model_span import model_span, note_answer
from quartet_agent_runtime.errors import ModelUnavailableError
from quartet_contracts import GRANT_HEADER, KEEPALIVE_HEADER, TASK_HEADER
from quartet_process import Secret, tracing
from quartet_process.bounded_answers import AnswerTooLongError

RETRY_DELAY_S = 0.25
HEALTH_TIMEOUT_S = 10.0
"""Silence after which a gateway that was asked for its health is given up."""
MAX_ANSWER_BYTES = 1024 * 1024
"""Far more than any answer of a model to an agent: a call may have 16,000 characters of arguments."""
CUT_OFF = "length"
"""OpenAI's finish_reason of an answer that reached the model's token limit."""


class GatewayClient:
    """The model of one agent, behind the gateway at `url`.

    The gateway retries providers. This client asks once more when a connection broke or fell silent after the question
    was sent, and tries to reach the gateway for `patience_s` [s], also from then on: one that restarts is worth the
    wait. Before its first question, and after a connection was lost, it asks for the gateway's health: a peer that
    accepts connections and is gone is found out within seconds, since the second silence in a row ends the wait, and a
    gateway of ours tells how often it sends a byte while its model thinks.
    """

    def __init__(self, url: str, agent: str, key: Secret | str | None = None, patience_s: float = 0.5) -> None:
        self._patience_s = patience_s
        self._url = url.rstrip("/")
        self._agent = agent
        self._key = Secret.fixed(key) if isinstance(key, str) and key else key or None
        self._http = open_client(url, most_bytes=MAX_ANSWER_BYTES)
        self._reached = False

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def for_task(self, task_id: str, request_id: str, grant: Callable[[], str]) -> "TaskModel":
        """Return the model as one task uses it: the gateway counts tokens and cost by the task of the grant.

        `grant` returns the token to present now, and is asked for each try; '' for a gateway that checks none.
        """
        return TaskModel(self, {TASK_HEADER: task_id, "X-Quartet-Request": request_id}, grant)

    async def answer(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        timeout_s: float,
        headers: dict[str, str] | None = None,
        grant: Callable[[], str] | None = None,
    ) -> ModelAnswer:
        """See Model.answer; `headers` and `grant` are those of `for_task`."""
        began = time.monotonic()
        with model_span(self._agent, messages) as one:
            answer = await self._ask(messages, tools, timeout_s, {**(headers or {}), **tracing.trace_headers()}, grant)
            note_answer(one, answer)
        metrics.MODEL_SECONDS.labels(self._agent).observe(time.monotonic() - began)
        return answer

    async def _ask(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        timeout_s: float,
        headers: dict[str, str],
        grant: Callable[[], str] | None,
    ) -> ModelAnswer:
        # Providers refuse an empty list of tools.
        body = {"model": self._agent, "messages": messages, **({"tools": tools} if tools else {})}
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._post(body, headers, grant)
        except TimeoutError:
            raise ModelUnavailableError(
                f"the gateway at {self._url} gave no answer for '{self._agent}' within {timeout_s:.0f} s; "
                "for a slow model raise QUARTET_PATIENCE, or QUARTET_MODEL_TIMEOUT_S"
            ) from None
        if not response.is_success:
            raise ModelUnavailableError(
                f"the gateway at {self._url} answered {response.status_code}: {_error(response)}"
            )
        try:
            answer = response.json()
            if answer.get("error"):
                # The gateway had begun to answer when the model failed.
                raise ModelUnavailableError(f"the gateway at {self._url} answered: {_error(response)}")
            return _read(answer)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise ModelUnavailableError(
                f"the gateway at {self._url} answered something that is not a chat completion "
                f"({type(error).__name__}: {error}): {response.text[:300]}"
            ) from error

    async def _post(
        self, body: dict[str, Any], headers: dict[str, str], grant: Callable[[], str] | None
    ) -> httpx2.Response:
        url = f"{self._url}/v1/chat/completions"
        began = time.monotonic()
        lost = silences = 0
        """Answers that were lost, and checks in a row to which the gateway was silent."""
        while True:
            asked = False
            try:
                if not self._reached:
                    await self._check_health()
                asked, silences = True, 0
                # Anew for each try: it may be the clock of who signs that was wrong.
                signed = {**self._credential(), **headers, **_granted(grant), KEEPALIVE_HEADER: "1"}
                async with self._http.stream("POST", url, json=body, headers=signed) as response:
                    note_keepalive(self._http, response.headers)
                    await response.aread()
                wait_s = min(self._patience_s, CLOCK_PATIENCE_S)
                if not is_out_of_time(response) or time.monotonic() >= began + wait_s:
                    return response
            except AnswerTooLongError as error:
                raise ModelUnavailableError(
                    f"the model of '{self._agent}' answered more than {MAX_ANSWER_BYTES} bytes; none of it is done. "
                    "Set max_tokens for it in the gateway's file"
                ) from error
            except httpx2.TransportError as error:
                self._reached = False
                # Nobody listens, or the check broke off: it may be restarting. One that is silent to the check may be
                # busy, or be gone. A connection that broke once the question was sent may have cost an answer.
                absent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                if asked and not absent:
                    lost += 1
                    # However long its model had thought, the gateway has as long to restart.
                    began = time.monotonic()
                elif isinstance(error, httpx2.TimeoutException) and not absent:
                    silences += 1
                else:
                    absent = True
                if lost > 1 or silences > 1 or (absent and time.monotonic() >= began + self._patience_s):
                    raise ModelUnavailableError(
                        f"no connection to the gateway at {self._url} ({type(error).__name__}: {error}); "
                        "start it, or set QUARTET_GATEWAY_URL to where it listens"
                    ) from error
            await asyncio.sleep(RETRY_DELAY_S)

    async def _check_health(self) -> None:
        """Ask for the gateway's health, whatever it says. Raises TransportError if there is no answer in time."""
        timeout = httpx2.Timeout(HEALTH_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        async with self._http.stream("GET", f"{self._url}/health", timeout=timeout) as response:
            note_keepalive(self._http, response.headers)
        self._reached = True

    def _credential(self) -> dict[str, str]:
        return {} if self._key is None else {"Authorization": f"Bearer {self._key.first}"}


class TaskModel:
    """A GatewayClient with the headers of one task."""

    def __init__(self, client: GatewayClient, headers: dict[str, str], grant: Callable[[], str]) -> None:
        self._client, self._headers, self._grant = client, headers, grant

    async def answer(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], timeout_s: float
    ) -> ModelAnswer:
        """See Model.answer."""
        return await self._client.answer(messages, tools, timeout_s, self._headers, self._grant)


def _granted(grant: Callable[[], str] | None) -> dict[str, str]:
    token = "" if grant is None else grant()
    return {GRANT_HEADER: token} if token else {}


def _read(body: dict[str, Any]) -> ModelAnswer:
    choice: dict[str, Any] = body["choices"][0]
    message: dict[str, Any] = choice["message"]
    usage: dict[str, Any] = body.get("usage") or {}
    extra: dict[str, Any] = body.get("quartet") or {}
    refusal: str | None = message.get("refusal")
    if refusal is None and choice.get("finish_reason") == "content_filter":
        refusal = "the provider's content filter stopped the answer"
    return ModelAnswer(
        text=_text(message.get("content")),
        calls=_calls(message.get("tool_calls") or [], cut_off=choice.get("finish_reason") == CUT_OFF),
        refusal=None if refusal is None else _text(refusal),
        model=_encodable(str(extra.get("model") or body.get("model") or "")),
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cost_usd=float(extra.get("cost_usd") or 0.0),
        takes_images=bool(extra.get("takes_images", False)),
        reasoning=_reasoning(message.get("reasoning")),
    )


def _calls(wanted: list[dict[str, Any]], *, cut_off: bool) -> list[ToolCall]:
    """Return the calls of an answer, each with an id of its own, and with the reason if it must not be made."""
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for index, call in enumerate(wanted):
        call_id, fault = _encodable(str(call.get("id") or f"call_{index}")), ""
        if call_id in taken:
            # Providers refuse a history in which two calls have one id.
            call_id, fault = f"{call_id}_{index}", f"an earlier call of the same answer has its id '{call_id[:100]}'"
        if cut_off:
            # What is missing cannot be told: a call that lost its arguments looks like one that has none.
            fault = "the answer was cut off at the model's token limit"
        taken.add(call_id)
        function = call["function"]
        calls.append(ToolCall(call_id, _encodable(str(function["name"])), function.get("arguments"), fault))
    return calls


def _text(content: Any) -> str:
    """Return the text of a message; some models answer a list of parts."""
    if isinstance(content, list):
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        content = "".join(str(part.get("text", "")) for part in parts)
    return _encodable(str(content or ""))


def _reasoning(value: Any) -> dict[str, Any]:
    """Return the gateway's `reasoning` of a message, {} where there is none."""
    if not isinstance(value, dict):
        return {}
    reasoning = cast("dict[str, Any]", value)
    return reasoning if is_text(reasoning) else json.loads(_encodable(json.dumps(reasoning, ensure_ascii=False)))


def _encodable(text: str) -> str:
    """Return `text` without halves of surrogate pairs, which JSON can express and the UTF-8 of the journal cannot."""
    return text.encode("utf-8", "replace").decode()


def _error(response: httpx2.Response) -> str:
    """Return the message of an OpenAI-style error, or the start of the body."""
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return response.text[:300]
