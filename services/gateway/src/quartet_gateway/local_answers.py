"""Puts the answers of local servers, and of proxies in front of them, into OpenAI's format."""

import json
import re
from http import HTTPStatus
from typing import Any, cast

UNUSUAL = re.compile(rb'"error"\s*:\s*[^\s{n]|"content"\s*:\s*\[')
"""An error that is neither an object nor null, or content that is a list: most answers need not be parsed here."""


def normalize(body: bytes) -> tuple[int, bytes]:
    """Return status and body for the `body` of a chat completion that came with status 200.

    An error that is a text becomes status 502 with its words, since LiteLLM would lose them. Content that is a list
    of text parts becomes one text; a list with any other part stays as it is.
    """
    answer = _parse(body) if UNUSUAL.search(body) else None
    if answer is None:
        return HTTPStatus.OK, body
    error = answer.get("error")
    if error and not isinstance(error, dict):
        words = error if isinstance(error, str) else json.dumps(error)
        return HTTPStatus.BAD_GATEWAY, json.dumps({"error": {"message": words}}).encode()
    choices = answer.get("choices")
    for choice in cast("list[Any]", choices) if isinstance(choices, list) else ():
        message: Any = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            texts = [_text(part) for part in cast("list[Any]", message["content"])]
            if None not in texts:
                message["content"] = "".join(cast("list[str]", texts))
    return HTTPStatus.OK, json.dumps(answer).encode()


def _parse(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _text(part: Any) -> str | None:
    text = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else None
