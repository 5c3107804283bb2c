"""Properties that hold for sentences made at random, of known names and of noise."""

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quartet_scripted_model import Call, answer

QUICK = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def names(entries):
    return st.sampled_from([(e, n) for e in entries for n in (e["name"], *e["aliases"])])


@pytest.fixture
def parts(home):
    """Strategies for the things of the site."""
    # "can" and "apple" are several things: whole names only.
    return {
        "object": names(home["objects"]),
        "place": names([*home["surfaces"], *home["containers"]]),
        "area": names(home["areas"]),
    }


FRAMES = [
    "{fetch} the {object} in the {area} and {put} it {prep} the {place}",
    "{fetch} the {object} from the {area}, then {put} it {prep} the {place}.",
    "{carry} the {object} from the {area} to the {place}",
    "please {carry} the {object} in the {area} to the {place}!",
    "There is a {object} in the {area}. {put} it {prep} the {place}.",
    "Onto the {place} with the {object} in the {area}",
    "could you {fetch} the {object} from the {area} and {carry} it to the {place}?",
    "go to the {area}, {fetch} the {object} and {put} it {prep} the {place}",
    "the {object} in the {area} should be {moved} to the {place}",
    "{object} from the {area} to the {place}",
    "I want you to {carry} the {object} from the {area} to the {place}",
    "{put} the {object} from the {area} {prep} the {place}",
]
WORDS = {
    "fetch": ["pick up", "grab", "get", "fetch", "take", "collect"],
    "carry": ["bring", "carry", "move", "transport", "deliver", "take"],
    "put": ["put", "place", "drop", "leave", "set"],
    "prep": ["on", "in", "onto", "into"],
    "moved": ["moved", "brought", "carried"],
}


def made(talk):
    return [(c.name, c.arguments) for c in talk.calls if c.name in {"approach", "pick", "place"}]


def ok(name, arguments):
    return {"success": True, "error_code": "NONE", "reason": "", "held_object_height_m": 0.1}


def test_known_things_in_known_frames_are_understood(orchestrator, parts, home):
    kinds = {p["name"]: "surface_place" for p in home["surfaces"]}
    kinds |= {p["name"]: "container_place" for p in home["containers"]}
    choices = {k: st.sampled_from(v) for k, v in WORDS.items()}

    @QUICK
    @given(st.sampled_from(FRAMES), st.fixed_dictionaries({**parts, **choices}), st.booleans())
    def check(frame, chosen, shout):
        thing, area, place = chosen["object"][0], chosen["area"][0], chosen["place"][0]
        said = frame.format(**{k: v[1] if isinstance(v, tuple) else v for k, v in chosen.items()})
        talk = orchestrator(said.upper() if shout else said)
        report = talk.run(ok)
        assert made(talk) == [
            ("approach", {"target_area": area["name"], "object_name": thing["name"], "next_action": "pick"}),
            ("pick", {"object_name": thing["name"]}),
            (
                "approach",
                {"target_area": place["area"], "object_name": place["name"], "next_action": kinds[place["name"]]},
            ),
            (
                "place",
                {"target_location": place["name"], "object_name": thing["name"]},
            ),
        ], said
        assert report.arguments["success"] is True

    check()


UNREAD = ("not", "if", "unless", "or", "two", "2", "except", "until", "again", "zorp", "slowly", "nicht", "когда")


def test_a_word_that_no_rule_reads_rejects_the_sentence_wherever_it_stands(orchestrator, parts):
    choices = {k: st.sampled_from(v) for k, v in WORDS.items()}

    @QUICK
    @given(
        st.sampled_from(FRAMES),
        st.fixed_dictionaries({**parts, **choices}),
        st.sampled_from([*UNREAD, "(", '"', "/", "\U0001f600"]),
        st.integers(0, 30),
    )
    def check(frame, chosen, word, where):
        words = frame.format(**{k: v[1] if isinstance(v, tuple) else v for k, v in chosen.items()}).split()
        words.insert(where % (len(words) + 1), word)
        talk = orchestrator(" ".join(words))
        report = talk.run(ok)
        assert not made(talk), words
        assert report.arguments["success"] is False

    check()


def test_two_deliveries_in_one_sentence(orchestrator, parts):
    @QUICK
    @given(
        st.lists(parts["object"], min_size=2, max_size=2, unique_by=lambda p: p[0]["name"]),
        st.lists(parts["place"], min_size=2, max_size=2),
        st.sampled_from([" and ", ", then ", ". Then ", "; afterwards "]),
    )
    def check(things, places, glue):
        said = glue.join(f"put the {t[1]} on the {p[1]}" for t, p in zip(things, places, strict=True))
        talk = orchestrator(said)
        talk.run(ok)
        carried = [(a["object_name"], a["target_location"]) for n, a in made(talk) if n == "place"]
        assert carried == [(t[0]["name"], p[0]["name"]) for t, p in zip(things, places, strict=True)], said

    check()


SOME_WORDS = (
    "put the on in from to and then it can red apple desk kitchen , . not before after of next both all "
    "is there everything floor away down me bring go table what you"
)
NOISE = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(SOME_WORDS.split()),
        max_size=30,
    ).map(" ".join),
)


def test_any_words_at_all_end_in_a_report(orchestrator):
    @QUICK
    @given(NOISE)
    def check(sentence):
        talk = orchestrator(sentence)

        def reply(name, arguments):
            if name == "ask_person":
                return {"ok": False, "error_code": "NO_ANSWER", "message": ""}
            return ok(name, arguments)

        report = talk.run(reply, limit=400)
        json.dumps(report.arguments)
        assert isinstance(report.arguments["summary"], str)
        assert report.arguments["summary"]

    check()


CODES = st.sampled_from(
    [
        *("NONE", "NONE", "NONE", "UNKNOWN", "NAV_PLAN_FAILED", "NAV_DRIVE_FAILED", "NAV_AREA_WRONG"),
        *("NAV_TARGET_NOT_VISIBLE", "NAV_VERIFY_OVERRIDE", "PICK_SEG_MISSED", "PICK_PLAN_FAILED"),
        *("PICK_REACH_EXCEEDED", "PICK_ATTACH_TIMEOUT", "PICK_HOLDING_ALREADY", "PICK_WRONG_OBJECT"),
        *("PLACE_SEG_MISSED", "PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED", "PLACE_DROP_VERIFY_FAILED"),
        *("PLACE_HOLDING_NOTHING", "PLACE_OUT_OF_SCOPE", "REFUSED", "INVALID_ARGUMENTS"),
    ]
)


def test_whatever_the_agents_answer_the_report_is_honest(orchestrator):
    """An object counts as done only if its last place at its target succeeded, and the robot never drives to a drop
    after a failed pick. It may put a wrong object aside, and what it still holds before the next one."""

    @QUICK
    @given(st.lists(CODES, min_size=60, max_size=60))
    @example(["NONE", "PICK_WRONG_OBJECT", "PLACE_REACH_EXCEEDED"])
    @example(["NONE", "NONE", "UNKNOWN", "UNKNOWN", "NONE", "PICK_WRONG_OBJECT"])
    def check(codes):
        left = list(codes)

        def reply(name, arguments):
            if name in {"approach", "pick", "place"}:
                code = left.pop(0) if left else "NONE"
                return {"success": code == "NONE", "error_code": code, "reason": "as drawn"}
            return {"ok": True}

        talk = orchestrator("bring the sponge from the kitchen to the desk and the book from the hallway to the bin")
        report = talk.run(reply, limit=60)
        placed, last_pick = {}, "NONE"
        for message in talk.messages:
            for call in message.get("tool_calls") or []:
                arguments = json.loads(call["function"]["arguments"])
                code = result_of(talk, call["id"])
                match call["function"]["name"]:
                    case "pick":
                        last_pick = code
                    case "approach" if arguments["next_action"] == "floor_place":
                        assert last_pick in {"NONE", "PICK_HOLDING_ALREADY", "PICK_WRONG_OBJECT"}
                    case "approach" if arguments["next_action"] != "pick":
                        assert last_pick in {"NONE", "PICK_HOLDING_ALREADY"}
                    case "place" if arguments["target_location"] != "floor":
                        placed[arguments["object_name"]] = code
        for row in report.arguments["objects"]:
            assert row["completed"] == (placed.get(row["object_name"]) == "NONE")
            assert row["completed"] == (row["error_code"] == "NONE")
        assert report.arguments["success"] == all(r["completed"] for r in report.arguments["objects"])

    def result_of(talk, call_id):
        return next(
            json.loads(m["content"]).get("error_code") for m in talk.messages if m.get("tool_call_id") == call_id
        )

    check()


def test_the_same_messages_give_the_same_answer(orchestrator):
    talk = orchestrator("bring the sponge from the kitchen to the desk")
    assert talk.next() == talk.next()


def test_a_conversation_of_nonsense_messages_is_answered():
    tools = [{"type": "function", "function": {"name": "report_task_result", "parameters": {}}}]
    for messages in (
        [{"role": "user", "content": None}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}],
        [{"role": "assistant", "tool_calls": [{}]}, {"role": "tool", "content": "{"}],
        [{"role": "system", "content": "## Facts\n```json\n[1, 2]\n```"}, {"role": "user", "content": "x"}],
        [{"role": "system", "content": "## Facts\n```json\n{broken\n```"}],
    ):
        turn = answer(messages, tools)
        assert isinstance(turn, Call)
        assert turn.arguments["success"] is False
