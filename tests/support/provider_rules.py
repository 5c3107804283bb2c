"""What providers' documentation says of a request, as checks: each raises AssertionError where its rule is broken.

A rule gets all requests of one conversation, oldest first, since some compare a request with the answer before it.
`RULES` has the rules of each family of tests/integration/gateway/families.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from support.fake_provider import Asked, Family

Rule = Callable[[Asked, Family], None]
Block = dict[str, Any]

CHAT_FIELDS = {"role", "content", "name", "refusal", "tool_calls", "tool_call_id", "audio", "function_call"}


def messages_of(asked: Asked) -> list[Block]:
    """Return the messages of a chat completion request."""
    return asked.body["messages"]


def parts_of(message: Block) -> list[Block]:
    """Return the content of a message as parts."""
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


# OpenAI and what is compatible with it


def each_call_is_answered_at_once(asked: Asked, _: Family) -> None:
    """An assistant message with tool_calls is followed by one tool message for each id, before any other message.

    https://platform.openai.com/docs/guides/function-calling
    """
    messages, index = messages_of(asked), 0
    while index < len(messages):
        calls = [call["id"] for call in messages[index].get("tool_calls") or []]
        assert len(set(calls)) == len(calls)
        results = messages[index + 1 : index + 1 + len(calls)]
        assert sorted(calls) == sorted(one.get("tool_call_id", "") for one in results), messages[index]
        index += 1 + len(calls)
        assert index >= len(messages) or messages[index]["role"] != "tool", "a result without its call"


def only_users_show_pictures(asked: Asked, family: Family) -> None:
    """Parts of type image_url are for the role user; tool, system and assistant messages take text.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    shown = [m["role"] for m in messages_of(asked) for part in parts_of(m) if part["type"] == "image_url"]
    assert set(shown) <= {"user"}
    assert family.takes_images or not shown, "this model reads no pictures"


def messages_have_documented_fields_only(asked: Asked, _: Family) -> None:
    """A message has the fields of the reference: no thoughts of another provider, nothing of the gateway's own.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for message in messages_of(asked):
        assert set(message) <= CHAT_FIELDS, message


def ids_of_calls_have_at_most_40_characters(asked: Asked, _: Family) -> None:
    """OpenAI: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40".

    https://community.openai.com/t/1056398
    """
    for message in messages_of(asked):
        for call in message.get("tool_calls") or []:
            assert len(call["id"]) <= 40


def arguments_are_json_objects(asked: Asked, _: Family) -> None:
    """Arguments of calls go back as the text of a JSON object; servers with a chat template parse them.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for message in messages_of(asked):
        for call in message.get("tool_calls") or []:
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def the_key_is_a_bearer_token(asked: Asked, family: Family) -> None:
    """The key is in the header Authorization and nowhere else.

    https://platform.openai.com/docs/api-reference/authentication
    """
    for key in family.environment.values():
        assert asked.headers["authorization"] == f"Bearer {key}"
        assert key not in json.dumps(asked.body)


def azure_has_deployment_version_and_key(asked: Asked, family: Family) -> None:
    """The path names the deployment; the key is in the header api-key.

    https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference
    """
    assert asked.path == f"/openai/deployments/{family.model.partition('/')[2]}/chat/completions"
    assert asked.headers["api-key"] == family.environment["AZURE_API_KEY"]


CHAT: tuple[Rule, ...] = (
    each_call_is_answered_at_once,
    only_users_show_pictures,
    arguments_are_json_objects,
)
PLAIN_CHAT: tuple[Rule, ...] = (*CHAT, messages_have_documented_fields_only)


def response_items_are_paired(asked: Asked, _: Family) -> None:
    """Each function_call has one function_call_output with its call_id, behind it.

    https://platform.openai.com/docs/guides/function-calling?api-mode=responses
    """
    assert asked.path == "/v1/responses"
    items = asked.body["input"]
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(outputs)
    for call_id in calls:
        at = {item["type"]: i for i, item in enumerate(items) if item.get("call_id") == call_id}
        assert at["function_call"] < at["function_call_output"]


def reasoning_items_stand_before_what_they_led_to(asked: Asked, _: Family) -> None:
    """A reasoning item goes back whole, directly before the item that came after it.

    https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context
    """
    items = asked.body["input"]
    for item, after in zip(items, [*items[1:], {}], strict=True):
        if item.get("type") == "reasoning":
            assert after.get("type") in {"function_call", "message", "reasoning"} or after.get("role") == "assistant"
            assert {"id", "summary"} <= set(item)


def responses_show_pictures_to_users_only(asked: Asked, _: Family) -> None:
    """input_image parts are for messages of users; an assistant's text is output_text.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    for item in asked.body["input"]:
        if isinstance(item.get("content"), list):
            kinds = {part["type"] for part in item["content"]}
            assert kinds <= (
                {"output_text", "refusal"} if item["role"] == "assistant" else {"input_text", "input_image"}
            )


# Anthropic


def anthropic_results_follow_their_calls(asked: Asked, _: Family) -> None:
    """Results are in the message after the calls, before any other block of it.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    messages = asked.body["messages"]
    for message, after in zip(messages, [*messages[1:], {"content": []}], strict=True):
        blocks = parts_of(message)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        behind = parts_of(after)
        results = [block["tool_use_id"] for block in behind if block["type"] == "tool_result"]
        assert sorted(calls) == sorted(results)
        assert all(block["type"] == "tool_result" for block in behind[: len(results)]), "results come first"


def anthropic_turns_begin_with_the_user(asked: Asked, _: Family) -> None:
    """The first message is a user's; roles are user and assistant, the system's text is a field of its own.

    https://platform.claude.com/docs/en/api/messages
    """
    roles = [message["role"] for message in asked.body["messages"]]
    assert roles[0] == "user"
    assert set(roles) <= {"user", "assistant"}
    assert asked.body["system"]


def anthropic_text_is_not_empty(asked: Asked, _: Family) -> None:
    """ "text content blocks must be non-empty", and the last message has no white space at its end.

    https://platform.claude.com/docs/en/api/errors
    """
    blocks = [block for message in asked.body["messages"] for block in parts_of(message)]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text"), blocks


def anthropic_thinking_goes_back_first_and_whole(asked: Asked, _: Family) -> None:
    """With thinking on, the running turn begins with a thinking block, and in each message they come first.

    "Expected `thinking` or `redacted_thinking`, but found `tool_use`" otherwise; with thinking off, "an assistant
    message cannot contain thinking".
    https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
    """
    messages = asked.body["messages"]
    thoughts = [[block["type"] in {"thinking", "redacted_thinking"} for block in parts_of(m)] for m in messages]
    if "thinking" not in asked.body:
        assert not any(map(any, thoughts))
        return
    spoken = [i for i, m in enumerate(messages) if m["role"] == "user" and not _has_results(m)]
    running = [(m, thoughts[i]) for i, m in enumerate(messages) if i > spoken[-1] and m["role"] == "assistant"]
    assert not running or running[0][1][0], running[0][0]
    for message, thought in zip(messages, thoughts, strict=True):
        assert thought == sorted(thought, reverse=True), "thinking comes before all else"
        assert all(block["signature"] for block in parts_of(message) if block["type"] == "thinking")


def _has_results(message: Block) -> bool:
    return any(block["type"] == "tool_result" for block in parts_of(message))


def anthropic_thinking_has_its_room(asked: Asked, _: Family) -> None:
    """budget_tokens is at least 1024 and below max_tokens; temperature is not changed.

    https://platform.claude.com/docs/en/build-with-claude/extended-thinking
    """
    thinking = asked.body.get("thinking", {})
    if thinking.get("type") == "enabled":
        assert 1024 <= thinking["budget_tokens"] < asked.body["max_tokens"]
        assert asked.body.get("temperature", 1) == 1


def anthropic_has_at_most_four_cache_markers(asked: Asked, _: Family) -> None:
    """At most four blocks have cache_control, none of them a thinking block.

    https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """
    blocks = [block for message in asked.body["messages"] for block in parts_of(message)]
    marked = [
        block for block in [*blocks, *asked.body["system"], *asked.body.get("tools", [])] if block.get("cache_control")
    ]
    assert len(marked) <= 4
    assert all("thinking" not in block.get("type", "") for block in marked)


def anthropic_ids_of_calls(asked: Asked, _: Family) -> None:
    """Ids of calls match ^[a-zA-Z0-9_-]+$.

    https://platform.claude.com/docs/en/api/messages
    """
    for message in asked.body["messages"]:
        for block in parts_of(message):
            assert block["type"] != "tool_use" or re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])


# Google


def _gemini_parts(content: Block, name: str) -> list[Block]:
    snake = re.sub(r"[A-Z]", lambda m: f"_{m[0].lower()}", name)
    return [part for part in content["parts"] if name in part or snake in part]


def gemini_results_follow_their_calls(asked: Asked, _: Family) -> None:
    """A content with functionCall parts is followed by one with as many functionResponse parts.

    It comes directly behind a user's content or one with functionResponse parts, never first.
    https://ai.google.dev/gemini-api/docs/function-calling
    """
    contents = asked.body["contents"]
    assert contents[0]["role"] == "user"
    for i, content in enumerate(contents):
        assert content["role"] in {"user", "model"}
        calls = _gemini_parts(content, "functionCall")
        if calls:
            assert content["role"] == "model"
            assert contents[i - 1]["role"] == "user"
            assert len(_gemini_parts(contents[i + 1], "functionResponse")) == len(calls)


def gemini_parts_are_not_empty(asked: Asked, _: Family) -> None:
    """Each content has parts, and each part has data ("must include at least one parts field").

    https://ai.google.dev/api/caching#Part
    """
    for content in asked.body["contents"]:
        assert content["parts"]
        for part in content["parts"]:
            assert part
            assert part.get("text") != "" or len(part) > 1


def gemini_signatures_go_back(asked: Asked, _: Family) -> None:
    """In the turn that is going on, the first functionCall part of each step has its thoughtSignature.

    One that another model made has the documented stand-in "skip_thought_signature_validator".
    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    for content in asked.body["contents"]:
        calls = _gemini_parts(content, "functionCall")
        if calls:
            assert calls[0].get("thoughtSignature") or calls[0].get("thought_signature")
            assert not any(one.get("thoughtSignature") or one.get("thought_signature") for one in calls[1:])


def gemini_keeps_each_signature_at_its_part(asked: Asked, family: Family) -> None:
    """A signature goes back in the part that had it: its own call, not a text beside it.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    own = [
        part for name in ("calls", "call") for part in family.answers[name]["body"]["candidates"][0]["content"]["parts"]
    ]
    of_calls = {part["thoughtSignature"] for part in own if "functionCall" in part and "thoughtSignature" in part}
    for content in asked.body["contents"]:
        for part in content["parts"]:
            if "text" in part:
                assert part.get("thoughtSignature") not in of_calls


# Bedrock


def bedrock_turns_alternate(asked: Asked, _: Family) -> None:
    """Roles alternate, beginning with user.

    https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html
    """
    roles = [message["role"] for message in asked.body["messages"]]
    assert roles == [("user", "assistant")[i % 2] for i in range(len(roles))]


def bedrock_results_follow_their_calls(asked: Asked, _: Family) -> None:
    """Each toolUse has its toolResult in the next message; ids are [a-zA-Z0-9_-]{1,64}; toolConfig is there.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
    """
    messages = asked.body["messages"]
    for message, after in zip(messages, [*messages[1:], {"content": []}], strict=True):
        calls = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        results = [block["toolResult"]["toolUseId"] for block in after["content"] if "toolResult" in block]
        assert sorted(calls) == sorted(results)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in calls)
        assert not calls or asked.body["toolConfig"]


def bedrock_text_is_not_blank(asked: Asked, _: Family) -> None:
    """ "The text field in the ContentBlock object is blank" is a ValidationException.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
    """
    for message in asked.body["messages"]:
        assert message["content"]
        assert all(block["text"].strip() for block in message["content"] if "text" in block)


def bedrock_thinking_goes_back_first(asked: Asked, _: Family) -> None:
    """With thinking on, the running turn begins with reasoningContent and its signature; with it off, none has any.

    https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
    """
    messages = asked.body["messages"]
    if not asked.body.get("additionalModelRequestFields", {}).get("thinking"):
        assert not any("reasoningContent" in block for message in messages for block in message["content"])
        return
    results = [any("toolResult" in block for block in message["content"]) for message in messages]
    spoken = [i for i, m in enumerate(messages) if m["role"] == "user" and not results[i]]
    running = [m for i, m in enumerate(messages) if i > spoken[-1] and m["role"] == "assistant"]
    assert not running or running[0]["content"][0]["reasoningContent"]["reasoningText"]["signature"]


# Mistral


def mistral_ids_have_nine_characters(asked: Asked, _: Family) -> None:
    """ "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."

    https://mistralai.github.io/mistral-common/code_reference/mistral_common/protocol/instruct/validator/
    """
    for message in messages_of(asked):
        ids = [call["id"] for call in message.get("tool_calls") or []]
        ids += [message["tool_call_id"]] if message["role"] == "tool" else []
        assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", one) for one in ids), ids


def mistral_order_of_roles(asked: Asked, _: Family) -> None:
    """After a tool comes a tool or the assistant ("Unexpected role 'user' after role 'tool'", code 3230).

    The last message is a user's or a tool's; the code is the API's own, reported in
    https://github.com/BerriAI/litellm/issues/17761.
    https://mistralai.github.io/mistral-common/code_reference/mistral_common/protocol/instruct/validator/
    """
    roles = [message["role"] for message in messages_of(asked)]
    for role, after in pairwise(roles):
        assert (role, after) != ("tool", "user")
        assert (role, after) != ("assistant", "assistant")
    assert roles[-1] in {"user", "tool"}


def mistral_assistants_say_or_call_something(asked: Asked, _: Family) -> None:
    """ "Assistant message must have either content or tool_calls."

    https://mistralai.github.io/mistral-common/code_reference/mistral_common/protocol/instruct/validator/
    """
    for message in messages_of(asked):
        if message["role"] == "assistant":
            assert message.get("content") or message.get("tool_calls")


# DeepSeek, OpenRouter, vLLM, Ollama


def _own_turns(asked: Asked) -> list[Block]:
    return [m for m in messages_of(asked) if m["role"] == "assistant" and m.get("tool_calls")]


def deepseek_turns_with_calls_have_their_thoughts(asked: Asked, _: Family) -> None:
    """Every assistant message with calls has its reasoning_content, be it blank; else 400.

    https://api-docs.deepseek.com/guides/thinking_mode#tool-calls
    """
    for message in _own_turns(asked):
        assert message.get("reasoning_content"), message


def contents_are_text(asked: Asked, _: Family) -> None:
    """The content of a message is a string.

    https://api-docs.deepseek.com/api/create-chat-completion
    """
    for message in messages_of(asked):
        assert isinstance(message.get("content") or "", str)


def openrouter_details_go_back_unchanged(asked: Asked, family: Family) -> None:
    """reasoning_details of an own message go back in their order and unchanged.

    https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning
    """
    answered = [family.answers[name]["body"]["choices"][0]["message"] for name in ("calls", "call")]
    given = {one["tool_calls"][0]["id"]: one["reasoning_details"] for one in answered}
    for message in _own_turns(asked):
        assert message.get("reasoning_details") == given.get(message["tool_calls"][0]["id"])


def vllm_thoughts_go_back(asked: Asked, _: Family) -> None:
    """Thoughts of a turn with calls go back in the field in which the server reads them.

    https://docs.vllm.ai/en/latest/features/reasoning_outputs.html: `reasoning`, formerly `reasoning_content`
    """
    for message in _own_turns(asked):
        if message["tool_calls"][0]["id"].startswith("chatcmpl-tool"):
            assert message.get("reasoning_content") or message.get("reasoning")


def ollama_has_room_for_the_prompt(asked: Asked, _: Family) -> None:
    """options.num_ctx is set: below 24 GiB of VRAM the default is 4096 tokens, and what is longer is cut silently.

    https://docs.ollama.com/context-length
    """
    assert asked.path == "/api/chat"
    assert asked.body["options"]["num_ctx"] >= 16_384


def ollama_pictures_are_bare_base64(asked: Asked, _: Family) -> None:
    """Pictures are in `images` of a message, as base64 without `data:`; content is a string.

    https://docs.ollama.com/api/chat
    """
    for message in asked.body["messages"]:
        assert isinstance(message.get("content", ""), str)
        for picture in message.get("images") or []:
            base64.b64decode(picture, validate=True)


def ollama_arguments_are_objects(asked: Asked, _: Family) -> None:
    """function.arguments of a call are an object, not text.

    https://docs.ollama.com/capabilities/tool-calling
    """
    for message in asked.body["messages"]:
        for call in message.get("tool_calls") or []:
            assert isinstance(call["function"]["arguments"], dict)


def ollama_results_name_their_tool(asked: Asked, _: Family) -> None:
    """A message of role tool has `tool_name`, since there are no ids of calls.

    https://docs.ollama.com/capabilities/tool-calling
    """
    called: set[str] = set()
    for message in asked.body["messages"]:
        called |= {call["function"]["name"] for call in message.get("tool_calls") or []}
        if message["role"] == "tool":
            assert message["tool_name"] in called


ANTHROPIC: tuple[Rule, ...] = (
    anthropic_results_follow_their_calls,
    anthropic_turns_begin_with_the_user,
    anthropic_text_is_not_empty,
    anthropic_thinking_goes_back_first_and_whole,
    anthropic_thinking_has_its_room,
    anthropic_has_at_most_four_cache_markers,
    anthropic_ids_of_calls,
)
GEMINI: tuple[Rule, ...] = (
    gemini_results_follow_their_calls,
    gemini_parts_are_not_empty,
    gemini_signatures_go_back,
    gemini_keeps_each_signature_at_its_part,
)
MISTRAL: tuple[Rule, ...] = (
    *CHAT,
    mistral_ids_have_nine_characters,
    mistral_order_of_roles,
    mistral_assistants_say_or_call_something,
)
RULES: dict[str, Sequence[Rule]] = {
    "anthropic": ANTHROPIC,
    "azure": (*PLAIN_CHAT, ids_of_calls_have_at_most_40_characters, azure_has_deployment_version_and_key),
    "bedrock": (
        bedrock_turns_alternate,
        bedrock_results_follow_their_calls,
        bedrock_text_is_not_blank,
        bedrock_thinking_goes_back_first,
    ),
    "deepseek": (*CHAT, deepseek_turns_with_calls_have_their_thoughts, contents_are_text, the_key_is_a_bearer_token),
    "gemini": GEMINI,
    "groq": (*PLAIN_CHAT, the_key_is_a_bearer_token),
    "hosted_vllm": (*CHAT, vllm_thoughts_go_back),
    "hosted_vllm_mistral": MISTRAL,
    "magistral": MISTRAL,
    "mistral": (*MISTRAL, messages_have_documented_fields_only),
    "ollama": (
        ollama_has_room_for_the_prompt,
        ollama_pictures_are_bare_base64,
        ollama_arguments_are_objects,
        ollama_results_name_their_tool,
    ),
    "openai": (*PLAIN_CHAT, ids_of_calls_have_at_most_40_characters, the_key_is_a_bearer_token),
    "openai_responses": (
        response_items_are_paired,
        reasoning_items_stand_before_what_they_led_to,
        responses_show_pictures_to_users_only,
    ),
    "openrouter": (*CHAT, openrouter_details_go_back_unchanged, the_key_is_a_bearer_token),
    "vertex_ai": GEMINI,
}


def broken_rules(asked: Sequence[Asked], family: Family) -> Iterator[str]:
    """Yield the name of each rule that a request breaks, and how."""
    for number, one in enumerate(asked, 1):
        for rule in RULES[family.name]:
            try:
                rule(one, family)
            except (AssertionError, KeyError, IndexError, TypeError, ValueError) as error:
                yield f"request {number}: {rule.__name__}: {type(error).__name__} {error}"[:400]
