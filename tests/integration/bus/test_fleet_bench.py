"""The parts of `quartet bench fleet` that need a Redis."""

from quartet_benchmarks.fleet.latency import answering, measure
from quartet_benchmarks.fleet.redis_process import RedisProcess


async def test_every_request_is_timed_and_every_robot_has_a_waiting_task():
    with RedisProcess("always") as redis, answering(redis.url, replicas=2):
        times = await measure(redis, 20, 3, seed=0)
        redis.kill()
        redis.start()
        times += await measure(redis, 20, 3, seed=1)
    assert len(times) == 40
    assert all(time > 0 for time in times)
