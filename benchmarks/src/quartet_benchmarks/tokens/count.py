"""Counts the tokens of one request to a model by what they are for."""

import json
from collections.abc import Callable
from typing import Any

PARTS: tuple[str, ...] = ("schemas", "prompt", "facts", "request", "history", "results", "images")
"""schemas: names, descriptions and parameters of the tools. prompt: the system message but for its facts. request: the
first message of the user. history: what the model has said and called before, and reminders. results: of its calls."""
FACTS = "## Facts"
"""Heading of the facts in a prompt; they are its last section."""
IMAGE_TOKENS = 765
"""Of one image of 640 x 480, as OpenAI counts it at high detail: 85 and 170 for each of 4 tiles of 512 pixels.
https://platform.openai.com/docs/guides/images-vision#calculating-costs"""

Tokenizer = Callable[[str], int]


def count_request(body: dict[str, Any], tokens: Tokenizer) -> dict[str, int]:
    """Return the tokens of each part of a request in OpenAI's chat format; providers add a few per message."""
    found = dict.fromkeys(PARTS, 0)
    found["schemas"] = sum(tokens(_text(tool)) for tool in body.get("tools") or [])
    begun = False
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        if role == "system":
            prompt, heading, facts = str(content).partition(FACTS)
            found["prompt"] += tokens(prompt)
            found["facts"] += tokens(heading + facts)
        elif role == "tool":
            found["results"] += tokens(str(content))
        elif isinstance(content, list):
            for part in content:
                image = part.get("type") == "image_url"
                found["images"] += IMAGE_TOKENS if image else tokens(str(part.get("text", "")))
        elif role == "user" and not begun:
            found["request"] += tokens(str(content))
            begun = True
        else:
            found["history"] += tokens(str(content or "")) + tokens(_text(message.get("tool_calls") or []))
    return found


def picture_bytes(body: dict[str, Any]) -> int:
    """Return the bytes that images take in a request."""
    return sum(
        len(part["image_url"]["url"])
        for message in body["messages"]
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if part.get("type") == "image_url"
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else ""
