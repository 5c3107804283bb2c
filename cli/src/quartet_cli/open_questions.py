"""Tasks that wait for a person's word, and those that wait behind them."""

from collections.abc import Iterable

from quartet_contracts import ANY_ROBOT, State, TaskStatus, number_choices


def open_questions(tasks: Iterable[TaskStatus]) -> list[str]:
    """Return a line for each task that asks something: the question, how to answer it, and who waits for that."""
    listed = list(tasks)
    lines: list[str] = []
    for status in listed:
        if status.state is not State.PAUSED or not status.question:
            continue
        task, choices = status.task, f"\n  {number_choices(status.choices)}" if status.choices else ""
        waiting = [
            one.task.task_id
            for one in listed
            if one.state is State.QUEUED and one.task.robot in {task.robot, ANY_ROBOT}
        ]
        behind = f"\n  until then {task.robot} does nothing else; in its queue: {', '.join(waiting)}" if waiting else ""
        lines.append(f'{task.task_id} asks: {status.question}{choices}\n  quartet answer {task.task_id} "..."{behind}')
    return lines
