"""The only caller of a model: OpenAI chat format over HTTP to the model gateway."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

# httpx2 is what the mcp client stands on; using it here too keeps a second HTTP stack out of the process.
import httpx2

from quartet_agent_runtime._tls import IDLE_S, context_for
from quartet_agent_runtime.errors import ModelUnavailable

CONNECT_TIMEOUT_S = 5.0
RETRY_DELAY_S = 0.25


@dataclass(frozen=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` has not been checked."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class ModelAnswer:
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    refusal: str | None = None
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    takes_images: bool = False


class Model(Protocol):
    """Anything that answers a conversation."""

    async def answer(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], timeout_s: float
    ) -> ModelAnswer:
        """The model's next message. Raises ModelUnavailable."""
        ...


class GatewayClient:
    """The model of one agent, reached through the gateway at `url`.

    The gateway retries providers; this client asks once more when a connection broke, and for `patience_s` where
    nobody takes one: a gateway that is started again is worth the wait.
    """

    def __init__(self, url: str, agent: str, key: str | None = None, patience_s: float = 0.5) -> None:
        self._patience_s = patience_s
        self._url = url.rstrip("/")
        self._agent = agent
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
            limits=httpx2.Limits(keepalive_expiry=IDLE_S),
            verify=context_for(url),
            trust_env=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    def for_task(self, task_id: str, request_id: str) -> "TaskModel":
        """The model as one task uses it: the gateway counts tokens and cost by task."""
        return TaskModel(self, {"X-Quartet-Task": task_id, "X-Quartet-Request": request_id})

    async def answer(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        timeout_s: float,
        headers: dict[str, str] | None = None,
    ) -> ModelAnswer:
        """See Model.answer."""
        body = {"model": self._agent, "messages": messages, "tools": tools}
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._post(body, headers or {})
        except TimeoutError:
            raise ModelUnavailable(
                f"the gateway at {self._url} gave no answer for '{self._agent}' within {timeout_s:.0f} s; "
                "is the model overloaded? (QUARTET_MODEL_TIMEOUT_S)"
            ) from None
        if not response.is_success:
            raise ModelUnavailable(f"the gateway at {self._url} answered {response.status_code}: {_error(response)}")
        try:
            return _read(response.json())
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise ModelUnavailable(
                f"the gateway at {self._url} answered something that is not a chat completion "
                f"({type(error).__name__}: {error}): {response.text[:300]}"
            ) from error

    async def _post(self, body: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
        url = f"{self._url}/v1/chat/completions"
        patient_until = time.monotonic() + self._patience_s
        broken = 0
        while True:
            try:
                return await self._http.post(url, json=body, headers=headers)
            except httpx2.TransportError as error:
                # Nobody there: it may be starting again. A connection that broke may have cost an answer already.
                absent = isinstance(error, httpx2.ConnectError)
                broken += not absent
                if broken > 1 or (absent and time.monotonic() >= patient_until):
                    raise ModelUnavailable(
                        f"no connection to the gateway at {self._url} ({type(error).__name__}: {error}); "
                        "start it, or set QUARTET_GATEWAY_URL to where it listens"
                    ) from error
            await asyncio.sleep(RETRY_DELAY_S)


class TaskModel:
    """A GatewayClient with the headers of one task."""

    def __init__(self, client: GatewayClient, headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers

    async def answer(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], timeout_s: float
    ) -> ModelAnswer:
        """See Model.answer."""
        return await self._client.answer(messages, tools, timeout_s, self._headers)


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
        calls=[
            ToolCall(
                id=str(call.get("id") or f"call_{index}"),
                name=str(call["function"]["name"]),
                arguments=call["function"].get("arguments"),
            )
            for index, call in enumerate(message.get("tool_calls") or [])
        ],
        refusal=refusal,
        model=str(extra.get("model") or body.get("model") or ""),
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cost_usd=float(extra.get("cost_usd") or 0.0),
        takes_images=bool(extra.get("takes_images", False)),
    )


def _text(content: Any) -> str:
    """Text of a message; some models answer a list of parts."""
    if isinstance(content, list):
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        return "".join(str(part.get("text", "")) for part in parts)
    return str(content or "")


def _error(response: httpx2.Response) -> str:
    """The message of an OpenAI-style error, or the start of whatever came."""
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return response.text[:300]
