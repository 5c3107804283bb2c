"""The grammar of a RoCo reply: what it accepts, and the feedback for everything else."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartet_teams import ReplyError
from quartet_teams.roco import VERBS, Action, Form, parse_reply, plan_text, sub_plans
from support.toy_table import CUBES, PANELS, PATH_FORMS, ToyTable, execute

TABLE = ToyTable()
PATHS = ToyTable(forms=PATH_FORMS)
PATH = "PATH [(0, 0, 0), (0.1, -2e-1, 3.5)]"
FULL = ToyTable(holds={"Alice": ("red_cube",)})


def read(scene=TABLE, **actions):
    return parse_reply(execute(**actions), scene)


@pytest.mark.parametrize(
    ("written", "action"),
    [
        ("PICK red_cube PLACE panel2", Action("Alice", "PICK PLACE", "red_cube", "panel2")),
        ("PICK red_cube", Action("Alice", "PICK", "red_cube")),
        ("MOVE blue_cube", Action("Alice", "MOVE", "blue_cube")),
        ("WAIT", Action("Alice", "WAIT")),
        ("pick Red Cube place on panel2.", Action("Alice", "PICK PLACE", "red_cube", "panel2")),
        ("**PICK** `red-cube`", Action("Alice", "PICK", "red_cube")),
        ("Pick red_cube Place LEFT SHELF", Action("Alice", "PICK PLACE", "red_cube", "left shelf")),
    ],
)
def test_actions_are_read_whatever_their_case_and_emphasis(written, action):
    plan = read(Alice=written, Bob="WAIT")
    assert plan == {"Alice": action, "Bob": Action("Bob", "WAIT")}
    assert parse_reply(f"EXECUTE\n{plan_text(plan)}", TABLE) == plan, "what is rendered is read back"


@pytest.mark.parametrize(("written", "target"), [("red_cube panel1", "panel1"), ("red cube into the-left", None),
                                                 ("Red Cube on left shelf", "left shelf")])  # fmt: skip
def test_object_and_target_may_have_several_words(written, target):
    reply = execute(Alice=f"PLACE {written}", Bob="WAIT")
    if target is None:
        with pytest.raises(ReplyError, match=r"no valid target.*Valid targets: panel1, panel2, left shelf\."):
            parse_reply(reply, FULL)
    else:
        assert parse_reply(reply, FULL)["Alice"] == Action("Alice", "PLACE", "red_cube", target)


def test_a_text_with_two_meanings_is_refused():
    form = Form(("a", "a b"), ("b c", "c"))
    scene = ToyTable(("Alice",), {"PUT": form, "WAIT": Form()}, holds={"Alice": ("a", "a b")})
    with pytest.raises(ReplyError, match="several meanings: a, b c; a b, c"):
        read(scene, Alice="PUT a b c")
    twice = ToyTable(("Alice",), {"PICK": Form(("Cup", "cup"))})
    assert read(twice, Alice="PICK cup")["Alice"].object == "cup"
    with pytest.raises(ReplyError, match=r"'CUP' has no valid object.*Valid objects: Cup, cup"):
        read(twice, Alice="PICK CUP")


def test_paths_are_read_also_over_several_lines_and_in_square_brackets():
    broken = "PICK red_cube PATH [\n(0, 0, 0),\n(0.1, -2e-1, 3.5)\n]"
    square = "PICK red_cube path [[0,0,0], [.1,-.2,3.5]]"
    expected = Action("Alice", "PICK", "red_cube", path=((0, 0, 0), (0.1, -0.2, 3.5)))
    for written in (f"PICK red_cube {PATH}", broken, square):
        plan = read(PATHS, Alice=written, Bob="WAIT")
        assert plan["Alice"] == expected
        assert parse_reply(f"EXECUTE\n{plan_text(plan)}", PATHS) == plan


def test_the_last_plan_of_a_reply_counts_and_text_around_it_does_not():
    quoted, better = execute(Alice="PICK blue_cube", Bob="WAIT"), execute(Bob="WAIT", Alice="WAIT")
    reply = f"Bob said:\n{quoted}\nBetter:\n{better}\n\nDone!"
    assert [str(action) for action in parse_reply(reply, TABLE).values()] == ["WAIT", "WAIT"]
    assert list(parse_reply(reply, TABLE)) == ["Alice", "Bob"], "in speaking order"
    fenced = "*execute*\n```\n- Name: alice, Action: Wait\n- NAME: BOB ACTION: WAIT\n```"
    assert [str(action) for action in parse_reply(fenced, TABLE).values()] == ["WAIT", "WAIT"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "does not end with EXECUTE"),
        ("I would execute it.", "does not end with EXECUTE"),
        ("NAME Alice ACTION WAIT\nNAME Bob ACTION WAIT", "does not end with EXECUTE"),
        (execute(Alice="WAIT", Bob="WAIT") + "\nPROCEED", "does not end with EXECUTE"),
        ("EXECUTE", "No line with NAME follows EXECUTE"),
        (execute(Alice="WAIT"), "There is no line for Bob. End with EXECUTE"),
        (execute(Alice="WAIT", Bob="WAIT") + "\nNAME alice ACTION WAIT", "Alice has more than one line"),
        (execute(Alice="WAIT", Eve="WAIT"), "There is no robot 'Eve'. Valid robots: Alice, Bob."),
        ("EXECUTE\nNAME Alice WAIT\nNAME Bob ACTION WAIT", "ACTION is missing"),
        (execute(Alice="FLY", Bob="WAIT"), "'FLY' is no valid action. Valid actions: PICK <object> PLACE <target>;"),
        (execute(Alice="", Bob="WAIT"), "'' is no valid action"),
        (execute(Alice="SWEEP red_cube", Bob="WAIT"), "'SWEEP red_cube' is no valid action"),
        (execute(Alice="PICK green_cube", Bob="WAIT"), "no valid object. Write PICK <object>. Valid objects:"),
        (execute(Alice="PICK", Bob="WAIT"), "'' has no valid object. Write PICK <object>. Valid objects: red_cube"),
        (execute(Alice="PICK red_cube PLACE panel9", Bob="WAIT"), "has no valid target. Write PICK <object> PLACE"),
        (execute(Alice="PICK red_cube PLACE ", Bob="WAIT"), "'red_cube PLACE' has no valid target"),
        (execute(Alice="PLACE green_cube panel1", Bob="WAIT"), "no valid object. Write PLACE <object> <target>."),
        (execute(Alice="WAIT for Bob", Bob="WAIT"), "The action takes no object, and there is 'for Bob'"),
        (execute(Alice=f"WAIT {PATH}", Bob="WAIT"), "WAIT takes no PATH"),
        (execute(Alice="PICK red_cube and then " + "more " * 30, Bob="WAIT"), "no valid object"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused_with_quote_reason_and_remedy(reply, reason):
    with pytest.raises(ReplyError) as caught:
        parse_reply(reply, TABLE)
    error = caught.value
    assert reason in f"{error.reason} {error.remedy}"
    assert error.remedy.endswith(".")
    assert str(error) == f"{error.quote!r}: {error.reason} {error.remedy}"
    assert error.quote in reply or error.quote.split("…")[0] in " ".join(reply.split()) or "\n" in error.quote


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "has no PATH"),
        ("PATH", "not a list of points"),
        ("PATH (0, 0, 0)", "not a list of points"),
        ("PATH [0, 0, 0]", "not a list of points"),
        ("PATH []", "not a list of points"),
        ("PATH [(0, 0)]", "(0, 0) is not three finite numbers"),
        ("PATH [(0, 0, 0, 0)]", "not three finite numbers"),
        ("PATH [(0, 0, nan)]", "(0, 0, nan) is not three finite numbers"),
        ("PATH [(0, -inf, 0)]", "not three finite numbers"),
        ("PATH [(0, 1e999, 0)]", "not three finite numbers"),
        ("PATH [(0, 1_0, 0)]", "not three finite numbers"),
        ("PATH [(0, 0, 0), oops]", "not a list of points"),
        ("PATH [(0, 0, 0)] gently", "not a list of points"),
    ],
)
def test_a_path_that_is_none_is_refused(path, reason):
    with pytest.raises(ReplyError) as caught:
        read(PATHS, Alice=f"PICK red_cube {path}", Bob="WAIT")
    assert reason in caught.value.reason


def test_unequal_paths_are_refused_where_the_scene_wants_equal_ones():
    actions = {"Alice": f"PICK red_cube {PATH}", "Bob": "PICK blue_cube PATH [(0, 0, 0)]"}
    with pytest.raises(ReplyError, match="unequal numbers of points: Alice 2, Bob 1"):
        read(PATHS, **actions)
    assert len(read(replace(PATHS, equal_paths=False), **actions)) == 2
    assert len(read(PATHS, **{**actions, "Bob": "WAIT"})) == 2, "who waits has no path"


@pytest.mark.parametrize(
    ("alice", "bob", "reason"),
    [
        ("PICK blue_cube", "WAIT", "Alice already holds red_cube"),
        ("PICK blue_cube PLACE panel1", "WAIT", "Alice already holds red_cube"),
        ("WAIT", "PICK red_cube", "Alice holds red_cube"),
        ("PLACE blue_cube panel1", "WAIT", "Alice does not hold blue_cube; it holds red_cube"),
        ("WAIT", "PLACE blue_cube panel1", "Bob does not hold blue_cube; it holds nothing"),
        ("WAIT", "OPEN left_door", "Bob does not hold left_door; it holds nothing. Bob must PICK left_door first"),
    ],
)
def test_an_action_has_to_fit_what_the_grippers_hold(alice, bob, reason):
    with pytest.raises(ReplyError, match=reason):
        read(FULL, Alice=alice, Bob=bob)
    assert len(read(FULL, Alice="PLACE red_cube panel1", Bob="PICK blue_cube")) == 2
    assert len(read(ToyTable(holds={"Bob": ("left_door",)}), Alice="WAIT", Bob="OPEN left_door")) == 2


def test_pick_and_place_is_two_motions_in_which_the_others_move_or_wait():
    picked = Action("Alice", "PICK", "red_cube"), Action("Alice", "PLACE", "red_cube", "panel1")
    for other in ("WAIT", "MOVE blue_cube", "PICK blue_cube PLACE panel2"):
        plans = sub_plans(read(Alice="PICK red_cube PLACE panel1", Bob=other))
        assert [plan["Alice"] for plan in plans] == list(picked)
        assert [str(plan["Bob"]) for plan in plans] == (
            ["PICK blue_cube", "PLACE blue_cube panel2"] if "PLACE" in other else [other, other]
        )
    assert len(sub_plans(read(Alice="PICK red_cube", Bob="WAIT"))) == 1
    with pytest.raises(
        ReplyError, match=r"Alice picks and places, which takes two motions, and Bob has one\. Let Bob MOVE"
    ):
        read(Alice="PICK red_cube PLACE panel1", Bob="PICK blue_cube")


def test_the_verbs_have_the_published_order():
    assert VERBS == ("PICK PLACE", "PICK", "PLACE", "PUT", "OPEN", "SWEEP", "DUMP", "MOVE", "WAIT")


words = st.sampled_from(
    ["EXECUTE", "PROCEED", "NAME", "ACTION", "PATH", "Alice", "Bob", "PICK", "PLACE", "MOVE", "WAIT", "OPEN", *CUBES,
     *PANELS, "[", "]", "(", ")", ",", "0", "nan", "1e9", "\n", "\r", " ", "`", "**", "🤖", "\x00", "\u2028"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(words).map(" ".join), st.lists(words).map("".join)))
def test_any_text_is_a_plan_or_an_error_with_a_short_message(text):
    refused: list[str] = []
    for scene in (TABLE, PATHS, FULL):
        for reply in (text, f"EXECUTE\nNAME Alice ACTION {text}", execute(Alice=text, Bob="WAIT")):
            try:
                plan = parse_reply(reply, scene)
            except ReplyError as error:
                refused.append(str(error))
            else:
                assert list(plan) == ["Alice", "Bob"]
                assert {action.verb for action in plan.values()} <= set(scene.forms)
                assert parse_reply(f"EXECUTE\n{plan_text(plan)}", scene) == plan
    assert all(len(message) < 3000 for message in refused)


@pytest.mark.parametrize(
    "piece",
    ["(", ")", "[", "]", "[(", "(0,", "EXECUTE", "EXECUTE\n", "NAME ", "\nNAME", "NAME Alice ACTION ", "PATH", "PATH [",
     "PICK red_cube PLACE ", " place", "* ", " ", "\n", "execute\n", "_", ", "],
)  # fmt: skip
def test_no_text_takes_long(piece):
    began = time.process_time()
    for length in (19_000, 10_000_000):
        text = piece * (length // len(piece))
        told = [f"EXECUTE\nNAME Alice ACTION {verb} {text}\nNAME Bob ACTION WAIT\n" for verb in ("PICK", "PLACE")]
        for reply in (text, *told, execute(Alice=text)):
            for scene in (TABLE, PATHS):
                with pytest.raises(ReplyError):
                    parse_reply(reply, scene)
    assert time.process_time() - began < 3
