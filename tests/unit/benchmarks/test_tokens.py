"""How the tokens suite takes a request apart."""

import pytest

from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import tokenizer
from quartet_benchmarks.tokens.count import IMAGE_TOKENS, PARTS, count_request
from quartet_benchmarks.tokens.suite import MODEL, summary

CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def tool(name):
    return {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object"}}}


def body(*more, report="report_pick_result"):
    begin = [
        {"role": "system", "content": "one two\n## Facts three"},
        {"role": "user", "content": "four"},
    ]
    return {"messages": [*begin, *more], "tools": [tool("look"), tool(report)]}


def words(text):
    return len(text.split())


def test_each_part_of_a_request_is_counted_once():
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}
    request = body(
        {"role": "assistant", "content": "five six", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "seven eight nine"},
        {"role": "user", "content": [{"type": "text", "text": "two images"}, picture, picture]},
        {"role": "user", "content": "a reminder"},
    )
    assert count_request(request, words) == {
        "schemas": 2, "prompt": 2, "facts": 3, "request": 1, "history": 5, "results": 3, "images": 2 + 2 * IMAGE_TOKENS
    }  # fmt: skip


def test_a_request_without_anything_but_a_prompt_is_counted_too():
    assert count_request({"messages": [{"role": "system", "content": "one"}]}, words) == {
        **dict.fromkeys(PARTS, 0), "prompt": 1
    }  # fmt: skip


def test_the_table_adds_up_to_all_requests():
    result = summary([body(), body(), body(report="report_task_result"), body(report="sum_up")], MODEL, 0)
    rows = {row["agent"]: row for row in result.rows}
    assert list(rows) == ["orchestrator", "pick", "other", "all"]
    assert rows["pick"]["calls"] == 2
    assert result.metrics["turns_multi"] == 4
    of_text = result.metrics["tokens_in_multi"]
    assert result.metrics["tokens_in_per_turn"] == of_text / 4
    assert of_text + result.metrics["images_tokens"] == sum(row["total"] for row in result.rows) / 2
    assert of_text == sum(result.metrics[f"{part}_tokens"] for part in PARTS if part != "images")
    assert [one["agent"] for one in result.details] == ["pick", "pick", "orchestrator", "other"]


def test_tokens_are_those_of_the_model_and_not_a_guess_by_length():
    count = tokenizer(MODEL)
    english, signs = "internationalisation " * 20, "{[<>]}" * 20
    assert count(english) < len(english) / 4
    assert count(signs) > len(signs) / 4


@pytest.mark.parametrize(
    ("model", "counted"),
    [
        (MODEL, f"by LiteLLM's tokenizer for {MODEL}"),
        ("vllm/nobody-7b", "as one for every four characters, since the tokenizer of vllm/nobody-7b is not known"),
    ],
)
def test_the_result_says_what_counted(model: str, counted: str) -> None:
    result = summary([body()], model, 0)
    assert result.parameters["counted"] == counted
    assert f"Counted offline {counted}; " in result.notes[0]


def test_a_second_model_is_refused_before_anything_starts() -> None:
    with pytest.raises(OptionError, match=r"^model openai/gpt-4o, openai/gpt-5: .* give --model once$"):
        bench("tokens", options={"model": ["openai/gpt-4o", "openai/gpt-5"]})
