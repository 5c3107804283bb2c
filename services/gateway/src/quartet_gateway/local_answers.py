"""Puts the answers of local servers, and of proxies in front of them, into OpenAI's format."""

import json
import re
from http import HTTPStatus
from typing import Any, cast

UNUSUAL = re.compile(rb'"error"\s*:\s*[^\s{n]|"content"\s*:\s*\[')
"""An error that is neither an object nor null, or content that is a list: other answers need not be parsed here."""


def normalize(body: bytes) -> tuple[int, bytes]:
    """Return status and body of a chat completion that came with status 200.

    An error that is a text becomes status 502 with its words, since LiteLLM would lose them. Content that is a list
    of texts alone becomes one text. Anything else is unchanged.
    """
    if not UNUSUAL.search(body):
        return HTTPStatus.OK.value, body
    try:
        answer: Any = json.loads(body)
        if (error := answer.get("error")) and not isinstance(error, dict):
            words = error if isinstance(error, str) else json.dumps(error)
            return HTTPStatus.BAD_GATEWAY.value, json.dumps({"error": {"message": words}}).encode()
        for choice in answer["choices"]:
            if isinstance(parts := choice["message"]["content"], list):
                texts = [part if isinstance(part, str) else part["text"] for part in cast("list[Any]", parts)]
                choice["message"]["content"] = "".join(texts)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        # Not a chat completion, or with parts that are no texts: for LiteLLM to read or to report.
        return HTTPStatus.OK.value, body
    return HTTPStatus.OK.value, json.dumps(answer).encode()
