"""The messages of one loop: as the model gets them, and as the transcript keeps them."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime.gateway import ModelAnswer
from quartet_agent_runtime.tools import Image, ToolOutcome

MAX_RESULT_CHARS = 12_000
IMAGES_KEPT = 4
"""Older images are left out of the next request; a model that needs one looks again."""


@dataclass(frozen=True)
class _Picture:
    """Images that a tool gave; a message of their own, since OpenAI's tool messages carry text only."""

    caption: str
    images: list[Image]
    references: list[str]


class Conversation:
    """Grows by one model answer and its tool results per turn."""

    def __init__(self, system: str, user: str) -> None:
        self._entries: list[dict[str, Any] | _Picture] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]

    def add_answer(self, answer: ModelAnswer) -> None:
        entry: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            entry["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": _as_json(c.arguments)}}
                for c in answer.calls
            ]
        elif not answer.text:
            entry["content"] = answer.refusal or "(empty answer)"
        self._entries.append(entry)

    def add_user(self, text: str) -> None:
        self._entries.append({"role": "user", "content": text})

    def add_result(self, call_id: str, outcome: ToolOutcome) -> str:
        """Append a tool's result and return its text as the model reads it."""
        text = cut(json.dumps(outcome.content, ensure_ascii=False, separators=(",", ":")), MAX_RESULT_CHARS)
        self._entries.append({"role": "tool", "tool_call_id": call_id, "content": text})
        return text

    def add_images(self, caption: str, images: list[Image], references: list[str]) -> None:
        """Append images; they must follow all tool results of a turn."""
        self._entries.append(_Picture(caption, images, references))

    def messages(self, *, takes_images: bool) -> list[dict[str, Any]]:
        """OpenAI chat messages; images are left out for a model that takes none."""
        pictures = [entry for entry in self._entries if isinstance(entry, _Picture)]
        shown = pictures[-IMAGES_KEPT:] if takes_images else []
        found: list[dict[str, Any]] = []
        for entry in self._entries:
            if not isinstance(entry, _Picture):
                found.append(entry)
            elif entry in shown:
                found.append({"role": "user", "content": [{"type": "text", "text": entry.caption}, *_parts(entry)]})
            elif takes_images:
                found.append({"role": "user", "content": f"{entry.caption} [older images left out; look again]"})
        return found

    def transcript(self) -> list[dict[str, Any]]:
        """The same with references in place of images."""
        return [
            {"role": "user", "content": entry.caption, "images": entry.references}
            if isinstance(entry, _Picture)
            else entry
            for entry in self._entries
        ]


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters with a mark that says how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} …[cut: {len(text) - limit} of {len(text)} characters left out]"


def _parts(picture: _Picture) -> list[dict[str, Any]]:
    return [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"},
        }
        for image in picture.images
    ]


def _as_json(arguments: Any) -> str:
    """Arguments as valid JSON text: providers refuse a history that holds what a model wrote wrongly."""
    if isinstance(arguments, str):
        try:
            if isinstance(json.loads(arguments or "{}"), dict):
                return arguments or "{}"
        except (ValueError, RecursionError):
            pass
        return json.dumps({"malformed": arguments[:2000]})
    return json.dumps(arguments if isinstance(arguments, dict) else {})
