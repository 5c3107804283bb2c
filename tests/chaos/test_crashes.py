"""Whatever is killed in the middle of a job: it is done, once. The long form is `quartet bench chaos`."""

import itertools

import pytest
import redis

from quartet_benchmarks.chaos.crashes import MOMENTS, SETS, Crash, crashes, play
from quartet_cli.stack import Stack

pytestmark = pytest.mark.timeout(300)

KILLS = [
    (("orchestrator", "pick"), "fingers closing"),
    (("redis", "place"), "fingers opened"),
]
"""Nobody knows whether the thing is held; whether it was put down, while the store is away as well."""


@pytest.mark.parametrize(("victims", "moment"), KILLS)
def test_the_job_is_done_once(stack: Stack, victims: tuple[str, ...], moment: str) -> None:
    outcome = play(stack, Crash(victims, moment, MOMENTS[moment]), seed=1)
    assert outcome.happened
    assert outcome.succeeded, outcome.status.report if outcome.status else "it did not end"
    assert outcome.delivered
    assert (outcome.grasps, outcome.releases) == (1, 1)


def test_the_store_keeps_what_it_has_acknowledged(stack: Stack) -> None:
    with redis.Redis.from_url(stack.redis_url) as store:
        kept = store.config_get("append*") | store.config_get("maxmemory-policy")
    assert kept.items() >= {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}.items()


def test_the_long_form_kills_everything_at_every_edge() -> None:
    pairs = {(crash.victims, crash.moment) for crash in itertools.islice(crashes(0), 2 * len(SETS) * len(MOMENTS))}
    assert set(itertools.product(SETS, MOMENTS)) <= pairs
    first, again = ([(c.victims, c.moment) for c in itertools.islice(crashes(seed), 20)] for seed in (3, 3))
    assert first == again, "by its seed"
