"""A task that has written all the events that it may begins no further step and says so."""

import time

from quartet_bus import BusOptions
from quartet_contracts import JournalEvent, State, encode
from quartet_contracts.journal import Note

FILL = "for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'm', ARGV[2]) end"


async def test_a_full_journal_ends_the_task_with_a_clear_word(start, agents, model, do):
    async def talkative(agents, delivery):
        task_id = delivery.request.task_id
        said = JournalEvent(
            task_id=task_id,
            actor="approach",
            at=time.time(),
            event=Note(text="…"),
            request_id=delivery.request.request_id,
        )
        key = agents.bus._keys.journal(task_id)
        await agents.bus._store.script(FILL, [key], BusOptions().journal_events, encode(said))
        return {"success": True, "error_code": "NONE", "reason": "there", "state": State.SUCCEEDED}

    agents.answers["approach"].append(talkative)
    agents.start()
    model.say(do.approach(), do.pick(), do.report(True))
    async with start() as client:
        task_id = await client.submit()
        status = await client.until_state(task_id, State.SUCCEEDED, State.FAILED)
    assert status.state is State.FAILED
    assert "20000 events" in status.report.summary
    assert "new task" in status.report.summary
    assert [skill for skill, _ in agents.calls] == ["approach"], "no further step was begun"
    assert (await agents.bus.journal.read_all(task_id))[-1].event.state is State.FAILED
