"""What is kept in Redis for people to read holds no secret, whatever a tool, a model or an error has said."""

import time

from quartet_bus._questions import Question
from quartet_contracts import JournalEvent, Skill, State, TaskStatus
from quartet_contracts.journal import ToolReturned
from quartet_process import Secret
from support.store import KEYS, command

JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJwaWNrIn0.c2lnbmF0dXJlLW9mLXRoaXM"
SAID = f'refused: "Bearer {JWT}" at redis://pick:s3cret@host:6379/0, and a-value-that-nobody-may-see'


async def test_nothing_that_people_read_holds_a_secret(bus, a_request, a_result, a_task, redis_server):
    Secret.fixed("a-value-that-nobody-may-see")
    said = ToolReturned(call_id="c", tool="x", ok=False, text=SAID)
    await bus.journal.append(JournalEvent(task_id="t1", actor="pick", at=time.time(), event=said))
    await bus.transcripts.save("t1", "loop", {"messages": [{"role": "tool", "content": SAID}]})
    await bus.questions.put("t1", Question("q1", SAID, time.time() + 60), 60)
    status = TaskStatus(task=a_task(), state=State.FAILED, updated_at=time.time(), question=SAID)
    assert await bus.statuses.put(status)
    queue = bus.skills(Skill.PICK)
    await queue.submit(a_request("r1"))
    delivery = await queue.take(10)
    await queue.mark_started(delivery)
    await queue.finish(delivery, a_result(delivery.request, reason=SAID))
    (event,) = await bus.journal.read_all("t1")
    texts = [
        event.event.text,
        (await bus.transcripts.get("t1", "loop"))["messages"][0]["content"],
        (await bus.questions.current("t1")).text,
        (await bus.statuses.get("t1")).question,
        (await queue.result("r1")).reason,
    ]
    hidden = 'refused: "Bearer ***" at redis://pick:***@host:6379/0, and ***'
    assert texts == [hidden] * 5


async def test_a_dead_letter_holds_no_secret(bus, redis_url):
    Secret.fixed("a-value-that-nobody-may-see")
    queue = bus.skills(Skill.PICK)
    message = f'{{"grant": "{JWT}", "note": "a-value-that-nobody-may-see"}}'
    await command(bus, "XADD", KEYS.skill_stream(Skill.PICK), "*", "m", message)
    assert await queue.take(0) is None
    (letter,) = await bus.dead_letters.list()
    assert letter.message == '{"grant": "***", "note": "***"}'
