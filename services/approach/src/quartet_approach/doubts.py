"""Doubtful detections of a search: after two looks at one, ask a person whether it is the target."""

from quartet_agent_runtime import RequestContext
from quartet_contracts.approvals import CONFIRM_OBJECT, CONFIRM_WAIT_S, parse_answer
from quartet_contracts.tools.perception import Detection, DetectResult

LOOKS = 2
"""Looks that must show a doubtful detection before a person is asked about it."""
LEAST_WAIT_S = 10.0
"""Time that a person needs to look at a picture and answer [s]."""
DETECT = "perception__detect_objects"


class Doubts:
    """What a search has seen that may be its target, and what a person said of it."""

    def __init__(self) -> None:
        self._looks: dict[str, int] = {}
        self._asked: set[str] = set()
        self._images: dict[str, str] = {}
        self._rejected = 0
        self._waited_s = 0.0

    @property
    def rejections(self) -> str:
        """Clause for a reason: how many objects like the target a person rejected; '' if none."""
        return f"; a person said of {self._rejected} like it that it is another thing" if self._rejected else ""

    def note(self, detection: Detection, images: list[str]) -> None:
        """Count a look that shows a doubtful detection. `images`: references of the pictures of that look."""
        if detection.object_id is not None and images:
            self._looks[detection.object_id] = self._looks.get(detection.object_id, 0) + 1
            self._images[detection.object_id] = images[0]

    async def settle(self, check: RequestContext, name: str, area: str) -> list[Detection]:
        """Ask about what enough looks have shown, once each; return what is seen of it if it is the target.

        Nothing changes if no person answers, or is not sure.
        """
        for object_id, looks in self._looks.items():
            left_s = CONFIRM_WAIT_S - self._waited_s
            if looks < LOOKS or object_id in self._asked or check.approver is None or left_s < LEAST_WAIT_S:
                continue
            self._asked.add(object_id)
            arguments = {"object_name": name, "area": area, "image": self._images[object_id]}
            until = check.request.deadline - check.clock.most_s + left_s
            before_s = check.clock.waited_s
            decision = await check.approver.ask(
                CONFIRM_OBJECT, arguments, "seen twice, below the acceptance score", until
            )
            self._waited_s += check.clock.waited_s - before_s
            if decision is not None and decision.allowed:
                seen = await check.call(DetectResult, DETECT, names=[name], camera="front", confirmed=object_id)
                return [one for one in seen.detections if one.object_id == object_id]
            if decision is not None and parse_answer(decision.answer) is False:
                await check.call(DetectResult, DETECT, names=[name], camera="front", rejected=object_id)
                self._rejected += 1
        return []
