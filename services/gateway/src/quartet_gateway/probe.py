"""`python -m quartet_gateway.probe`: asks each configured model a few short questions and prints what works.

It prints one JSON object a line: `{"finding": {...}}` for each step of each model, at the end `{"used": {...}}`. The
questions go the way of the agents' requests: the same file, keys, conversion, retries and reader of answers. Their cost
is in no budget.
"""

import argparse
import asyncio
import base64
import json
import logging
import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from quartet_gateway.config import DEFAULT_MODELS, SCRIPTED, GatewayFile
from quartet_gateway.errors import (
    ConfigurationError,
    ContextTooLongError,
    GatewayError,
    ModelBusyError,
    ModelRefusedError,
    ModelTimeoutError,
)
from quartet_gateway.gateway import Gateway
from quartet_gateway.ledger import SpendingLedger
from quartet_gateway.load import find_file, load_file
from quartet_gateway.models import Model, choose_models
from quartet_gateway.recording import Exchange, recorded, write_recording
from quartet_gateway.requests import read_request
from quartet_gateway.settings import ProviderKeys, Settings
from quartet_process import ProcessError, load_settings, redact

Verdict = Literal["ok", "warning", "wrong", "skipped"]
Message = dict[str, Any]

COLOUR = "green"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look through a camera of the robot.",
            "parameters": {
                "type": "object",
                "properties": {"camera": {"type": "string", "enum": ["front", "wrist"]}},
                "required": ["camera"],
                "additionalProperties": False,
            },
        },
    }
]
SYSTEM = {"role": "system", "content": "You are the eyes of a robot. You know nothing but what you are told and shown."}
TEXT: list[Message] = [SYSTEM, {"role": "user", "content": "Answer with the single word: ready"}]
TASK: list[Message] = [
    SYSTEM,
    {"role": "user", "content": "Call the tool look with the camera front. Then say in one word: which colour is it?"},
]
QUESTION = "This is the picture of the camera. In one word: which colour fills it?"
BLIND = "set takes_images: false for it in the gateway's file, or take a model that reads pictures"
SEES = "set takes_images: true for it in the gateway's file, or QUARTET_MODEL_TAKES_IMAGES=true"
AGENT_TOOLS = Path(__file__).parent / "agent_tools.json"
"""The tools that agents show their models, by agent and, if it shows others there, architecture."""
REJECTED = "report this line to Quartet's developers; until then use another model for this agent"
NO_TOOLS = "take a model that supports tool calls; vLLM needs --enable-auto-tool-choice and its --tool-call-parser"


class Probe:
    """The questions to one model, in the name of one of the agents that use it."""

    def __init__(
        self, model: Model, agents: list[str], gateway: Gateway, exchanges: list[Exchange], tell: Callable[..., None]
    ) -> None:
        self.steps: dict[str, list[Exchange]] = {}
        self._model = model
        self._agents = agents
        self._gateway = gateway
        self._exchanges = exchanges
        self._tell = tell
        self._refusal = ""

    async def run(self) -> None:
        """Ask all questions. Report those that cannot be asked after a failure as skipped."""
        if not await self._text():
            self._tell("tool", "skipped", "not asked", "see the line above")
            return
        answer = None
        if self._agents != ["perception"]:
            answer = await self._call()
            if answer is None:
                self._tell("tools", "skipped", "not asked", "see the line above")
            else:
                await self._agent_tools()
        await self._picture(answer)

    async def _text(self) -> bool:
        answer = await self._ask("text", "text", TEXT)
        if answer is not None and not answer.get("content"):
            self._tell("text", "wrong", "answered without text", "look at max_tokens: thinking may have used all of it")
            return False
        return answer is not None

    async def _call(self) -> Message | None:
        answer = await self._ask("tool", "call", TASK, TOOLS, NO_TOOLS, quiet=True)
        if answer is None:
            self._tell("result", "skipped", "not asked", "see the line above")
            return None
        calls = answer.get("tool_calls") or []
        if not calls:
            self._tell("tool", "wrong", f"made no call, but said {_short(answer)}", NO_TOOLS)
            return None
        function = calls[0]["function"]
        if function["name"] != "look" or _arguments(function) != {"camera": "front"}:
            said = redact(f"{function['name']}({function.get('arguments')})")[:100]
            self._tell("tool", "wrong", f"called {said} where look with the camera front was asked for", NO_TOOLS)
            return None
        self._tell("tool", "ok", "made the call that was asked for")
        seen = {"ok": True, "seen": [{"name": "can", "colour": COLOUR}]}
        again = await self._ask("result", "result", [*TASK, *_turn(answer, seen)], TOOLS, quiet=True)
        if again is not None and COLOUR not in str(again.get("content")).lower():
            self._tell("result", "wrong", f"did not read the tool's result, but said {_short(again)}", NO_TOOLS)
        elif again is not None:
            self._tell("result", "ok", "read the tool's result in the second turn")
        return answer

    async def _agent_tools(self) -> None:
        """Offer the tools of each agent that uses the model. Name those that the provider rejects."""
        shown: dict[str, list[Any]] = json.loads(AGENT_TOOLS.read_text())
        offered = {agent: tools for agent, tools in shown.items() if agent.split()[0] in self._agents}
        accepted = 0
        for agent, tools in offered.items():
            if await self._ask("tools", f"tools {agent}", TEXT, tools, quiet=True, may_refuse=True) is not None:
                accepted += 1
            elif refusal := self._refusal:
                each = {tool["function"]["name"]: tool for tool in tools}
                names = [name for name, tool in each.items() if await self._is_refused(f"{agent} {name}", tool)]
                what = ", ".join(names) if 0 < len(names) < len(each) else "all tools"
                self._tell("tools", "wrong", f"rejects {what} of {agent}: {refusal}", REJECTED)
        if accepted == len(offered):
            self._tell("tools", "ok", f"accepts the tools of {', '.join(offered)}")

    async def _is_refused(self, name: str, tool: Any) -> bool:
        await self._ask("tools", f"tools {name}", TEXT, [tool], quiet=True, may_refuse=True)
        return bool(self._refusal)

    async def _picture(self, answer: Message | None) -> None:
        """Show a picture where the agents do: behind the results of a turn."""
        model = self._model
        if not model.takes_images and not model.images_unknown:
            verdict = "warning" if "perception" in self._agents else "ok"
            remedy = "take one that reads pictures if a vision LLM segments" if verdict == "warning" else ""
            self._tell("picture", verdict, "is sent no pictures", remedy)
            return
        shown = {"role": "user", "content": [{"type": "text", "text": QUESTION}, _picture()]}
        before = [SYSTEM] if answer is None else [*TASK, *_turn(answer, {"ok": True})]
        tools, may_refuse = TOOLS if answer else None, not model.takes_images
        said = await self._ask("picture", "picture", [*before, shown], tools, BLIND, quiet=True, may_refuse=may_refuse)
        sees = said is not None and COLOUR in str(said.get("content")).lower()
        if sees:
            told = (
                ("ok", "saw the picture")
                if model.takes_images
                else ("warning", "reads pictures and is sent none", SEES)
            )
            self._tell("picture", *told)
        elif not model.takes_images and (said is not None or self._refusal):
            self._tell("picture", "ok", "reads no pictures and is sent none")
        elif said is not None:
            self._tell("picture", "wrong", f"did not see the picture, but said {_short(said)}", BLIND)

    async def _ask(
        self,
        step: str,
        name: str,
        messages: list[Message],
        tools: list[Any] | None = None,
        remedy: str = "",
        *,
        quiet: bool = False,
        may_refuse: bool = False,
    ) -> Message | None:
        """Return the message of the answer; None after an error.

        Report the error, unless the model refuses the request and `may_refuse`: then keep its text as `_refusal`.
        """
        self._refusal = ""
        body = {"model": self._agents[0], "messages": messages, **({"tools": tools} if tools else {})}
        began, first = time.monotonic(), len(self._exchanges)
        try:
            answer = await self._gateway.answer(read_request(json.dumps(body).encode()))
        except GatewayError as error:
            if may_refuse and isinstance(error, ModelRefusedError):
                self._refusal = str(error)
            else:
                self._tell(step, "wrong", str(error), _remedy(error, remedy))
            return None
        finally:
            self.steps[name] = self._exchanges[first:]
        message: Message = answer["choices"][0]["message"]
        if message.get("refusal"):
            self._tell(step, "wrong", f"refused: {redact(message['refusal'])[:100]}", "take another model")
            return None
        if not quiet and message.get("content"):
            self._tell(step, "ok", "answers", latency_ms=round((time.monotonic() - began) * 1e3, 1))
        return message


async def probe(
    file: GatewayFile,
    settings: Settings,
    environment: Mapping[str, str],
    say: Callable[[Any], None],
    folder: Path | None,
) -> bool:
    """Ask every configured model, `say` each finding and what all of it used; return whether nothing is wrong."""
    healthy = True
    used = {"cost_usd": 0.0, "tokens": 0}
    for model, agents in _distinct(choose_models(file, settings, environment)):

        def tell(
            step: str,
            verdict: Verdict,
            what: str,
            remedy: str = "",
            latency_ms: float | None = None,
            model: Model = model,
        ) -> None:
            nonlocal healthy
            healthy = healthy and verdict in {"ok", "warning"}
            finding = {"step": step, "verdict": verdict, "what": f"{model.name}: {what}", "remedy": remedy}
            say({"finding": {**finding, "latency_ms": latency_ms}})

        if model.name == DEFAULT_MODELS[SCRIPTED].model:
            tell("text", "ok", f"drives {', '.join(agents)}: the scripted model, which needs no check")
            continue
        if model.missing:
            tell("key", "wrong", f"cannot be used for {', '.join(agents)}", model.missing)
            continue
        ledger = SpendingLedger()
        gateway = Gateway(file, {agents[0]: [model]}, ledger=ledger, environment=environment)
        with recorded() as exchanges:
            one = Probe(model, agents, gateway, exchanges, tell)
            try:
                await one.run()
            finally:
                await gateway.close()
        spent = ledger.of_agent(agents[0], gateway.limits(agents[0]))
        used["cost_usd"] += spent.cost_usd
        used["tokens"] += spent.prompt_tokens + spent.completion_tokens
        if folder is not None:
            say({"recorded": str(write_recording(folder, model, one.steps, environment))})
    say({"used": used})
    return healthy


def _distinct(chosen: Mapping[str, list[Model]]) -> list[tuple[Model, list[str]]]:
    """Return each model once, with the agents that use it as model or as fallback."""
    found: dict[str, tuple[Model, list[str]]] = {}
    for agent, models in chosen.items():
        for model in models:
            _, agents = found.setdefault(f"{model.name} {model.parameters}", (model, []))
            if agent not in agents:
                agents.append(agent)
    return list(found.values())


def _turn(answer: Message, result: dict[str, Any]) -> list[Message]:
    """Return an answer with calls and the results of them, as the agents put them into a conversation."""
    kept = {name: answer[name] for name in ("tool_calls", "reasoning") if answer.get(name)}
    results = [{"role": "tool", "tool_call_id": c["id"], "content": json.dumps(result)} for c in answer["tool_calls"]]
    return [{"role": "assistant", "content": answer.get("content"), **kept}, *results]


def _arguments(function: Mapping[str, Any]) -> Any:
    try:
        return json.loads(function.get("arguments") or "")
    except ValueError:
        return None


def _short(message: Message) -> str:
    return repr(redact(str(message.get("content") or ""))[:100])


def _picture() -> dict[str, Any]:
    """Return a PNG of 64 x 64 pixels in COLOUR."""
    rows = (b"\0" + bytes((0, 160, 0)) * 64) * 64

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(data).decode()}"}}


def _remedy(error: GatewayError, of_step: str) -> str:
    if isinstance(error, ModelTimeoutError):
        return "see whether the server is overloaded or still loads the model, or raise QUARTET_PATIENCE"
    if isinstance(error, ModelBusyError):
        return "wait, or have the provider raise the limit of the account"
    if isinstance(error, ContextTooLongError):
        return "give the server a larger context window (num_ctx for Ollama, --max-model-len for vLLM)"
    if isinstance(error, ModelRefusedError):
        said = str(error)
        if "does not accept the key" in said:
            return "put a valid key of this provider into .env"
        if "have this model" in said:
            return "correct the model's name, or pull it (Ollama)"
        if "no credit" in said:
            return "add credit to the account at the provider"
        return of_step or "read what the provider says"
    return "see whether the server runs and is the one of QUARTET_MODEL_API_BASE or api_base"


def main(arguments: list[str] | None = None) -> int:
    """Return the exit status: 0, 1 when something is wrong, 2 when nothing could be asked."""
    parser = argparse.ArgumentParser(prog="python -m quartet_gateway.probe")
    parser.add_argument("--record", type=Path, metavar="DIR", help="keep requests and answers there, without secrets")
    folder: Path | None = parser.parse_args(arguments).record
    logging.getLogger("quartet_gateway").setLevel(logging.CRITICAL)
    try:
        settings = load_settings(Settings)
        ProviderKeys(os.environ, settings.secrets_dir).put_into(os.environ)
        file = load_file(find_file(settings.gateway_file)).with_patience(settings.patience)
        environment = dict(os.environ)
        healthy = asyncio.run(
            probe(file, settings, environment, lambda line: print(json.dumps(line), flush=True), folder)
        )
    except (ConfigurationError, ProcessError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if healthy else 1


if __name__ == "__main__":
    sys.exit(main())
