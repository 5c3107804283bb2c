"""Questions about doubtful detections: which answers count, and how long a search waits for them."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from quartet_approach.doubts import LOOKS, Doubts
from quartet_approach.target import MAX_CANDIDATES, Candidate, SearchMemory, Target, look
from quartet_contracts.approvals import CONFIRM_WAIT_S, ApprovalDecision, parse_answer
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.perception import Detection, DetectResult


@dataclass
class Asking:
    """The part of a request that asks a person, who always gives the same answer after `takes_s`."""

    answer: str | None = "not sure"
    takes_s: float = 5.0
    clock: Any = field(default_factory=lambda: SimpleNamespace(waited_s=0.0, most_s=600.0))
    request: Any = field(default_factory=lambda: SimpleNamespace(deadline=1000.0))
    asked: list[tuple[str, float]] = field(default_factory=list)
    settled: list[dict[str, Any]] = field(default_factory=list)

    @property
    def approver(self):
        return self

    async def ask(self, tool, arguments, because, until):
        self.asked.append((because, until - (self.request.deadline - self.clock.most_s)))
        self.clock.waited_s += self.takes_s
        return ApprovalDecision(approval_id="a", allowed=self.answer == "yes", answer=self.answer, token="")

    async def call(self, result, tool, **given):
        self.settled.append(given)
        return DetectResult(detections=[doubtful(given.get("confirmed") or "obj_000000000001")])


def doubtful(object_id: str) -> Detection:
    return Detection(
        object_id=object_id, label="carton", score=0.4, box_xyxy=(0, 0, 9, 9), camera="front", doubtful=True
    )


def seen(*ids: str) -> Doubts:
    doubts = Doubts()
    for _ in range(LOOKS):
        for one in ids:
            doubts.note(doubtful(one), ["image-1"])
    return doubts


ONE, OTHER = "obj_00000000000a", "obj_00000000000b"


@pytest.mark.parametrize("answer", ["no idea", "no, not sure", "not sure", "nobody knows", None])
async def test_unclear_answer_changes_nothing(answer):
    asking = Asking(answer)
    assert await seen(ONE).settle(asking, "carton", "kitchen") == []
    assert [because for because, _ in asking.asked] == ["seen twice, below the acceptance score"]
    assert asking.settled == []


async def test_whole_answer_confirms_or_rejects():
    asking, doubts = Asking("No."), seen(ONE)
    assert await doubts.settle(asking, "carton", "kitchen") == []
    assert "a person said of 1 like it" in doubts.rejections
    assert [one["rejected"] for one in asking.settled] == [ONE]
    asking = Asking("yes")
    (found,) = await seen(ONE).settle(asking, "carton", "kitchen")
    assert found.object_id == ONE
    assert [one["confirmed"] for one in asking.settled] == [ONE]


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [("yes", True), (" Yes. ", True), ("ok", True), ("no", False), ("'No!'", False)]
    + [(other, None) for other in ("no idea", "no, not sure", "yes, but slowly", "not sure", "", None)],
)
def test_only_a_whole_answer_is_yes_or_no(answer, meaning):
    assert parse_answer(answer) is meaning


async def test_only_waits_about_objects_use_up_their_time():
    asking = Asking(takes_s=CONFIRM_WAIT_S - 5.0)
    asking.clock.waited_s = 2 * CONFIRM_WAIT_S
    await seen(ONE, OTHER).settle(asking, "carton", "kitchen")
    assert [left_s for _, left_s in asking.asked] == [CONFIRM_WAIT_S], "the first question leaves too little time"


async def test_a_look_without_doubts_asks_for_one_pose():
    poses = []

    class Nothing(Asking):
        async def pose(self):
            poses.append(1)
            return Pose2D(x=0.0, y=0.0, yaw=0.0)

        async def try_detect(self, name, camera, object_id, **more):
            return []

    area: Any = SimpleNamespace(name="kitchen")
    assert await look(Nothing(), Target("carton", area, "object", 0.7, None)) is None
    assert len(poses) == 1


def test_doubtful_candidates_leave_the_clear_ones_their_turn():
    area: Any = SimpleNamespace(name="kitchen", outline=[(0.0, 0.0), (20.0, 0.0), (20.0, 9.0), (0.0, 9.0)])
    target, memory = Target("carton", area, "object", 0.7, None), SearchMemory()
    for number in range(MAX_CANDIDATES + 1):
        memory.note(Candidate((2.0 * number + 1, 2.0), (1.0, 1.0), doubtful=True))
    clear = [Candidate((3.2, 2.0), (1.0, 1.0)), Candidate((5.0, 6.0), (1.0, 1.0))]
    for one in clear:
        memory.note(one)
    taken = [memory.take(target) for _ in range(MAX_CANDIDATES + len(clear) + 1)]
    assert taken[: len(clear)] == clear, "also one beside a doubtful one"
    assert [one and one.doubtful for one in taken[len(clear) :]] == [True] * MAX_CANDIDATES + [None]
