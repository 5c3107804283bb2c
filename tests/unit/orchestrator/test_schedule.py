"""Estimate of when a team has done all its errands, compared with every schedule there is."""

from itertools import permutations, product
from random import Random

import pytest

from quartet_orchestrator.tasks.course import MEETING_MARGIN_S, PICK_S, PLACE_S, Course, meeting_s
from quartet_orchestrator.tasks.schedule import ENCOUNTER_S, Job, Scheduler, Worker
from quartet_orchestrator.tasks.ways import Ways

HANDLING_S = PICK_S + PLACE_S
WAYS = Ways()


def exact(workers, jobs):
    """The soonest end of all ways to share the jobs out, in any order [s]."""

    def end(name, order):
        at, time = workers[name].at, workers[name].ready_s
        for job in order:
            at, time = jobs[job].end, time + jobs[job].duration(WAYS, at)
        return time

    best = float("inf")
    for owners in product(workers, repeat=len(jobs)):
        own = {name: [job for job, owner in zip(jobs, owners, strict=True) if owner == name] for name in workers}
        best = min(best, max(min(end(name, order) for order in permutations(own[name])) for name in workers))
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_schedule_ends_much_sooner_and_all_jobs_are_in_it(seed):
    rng = Random(seed)

    def point():
        return rng.uniform(0, 12), rng.uniform(0, 10)

    workers = {"ada": Worker(point()), "bob": Worker(point(), Course(rng.uniform(0, 60)))}
    jobs = {f"thing {number}": Job(point(), point()) for number in range(6)}
    found = Scheduler(workers, jobs).best()
    assert sorted(job for queue in found.queues.values() for job in queue) == sorted(jobs)
    assert exact(workers, jobs) - 1e-6 <= found.end_s <= 1.08 * exact(workers, jobs)


def test_a_long_job_is_not_left_for_the_end():
    jobs = {name: Job((0, 0), (0, 0)) for name in ("a", "b")} | {"far": Job((0, 0), (30, 0))}
    found = Scheduler({"ada": Worker((0, 0)), "bob": Worker((0, 0))}, jobs).best()
    assert {"far"} in [set(queue) for queue in found.queues.values()]
    assert found.end_s == pytest.approx(HANDLING_S + WAYS.seconds((0, 0), (30, 0)))


@pytest.mark.parametrize("unable", [{("ada", "near"), ("bob", "away")}, {("bob", "away")}])
def test_robots_do_not_exchange_jobs_that_one_is_not_able_to_do(unable):
    workers = {"ada": Worker((0, 0)), "bob": Worker((30, 0))}
    jobs = {"near": Job((0, 0), (0, 0)), "away": Job((30, 0), (30, 0))}
    found = Scheduler(workers, jobs, able=lambda robot, job: (robot, job) not in unable).best()
    assert not unable & {(robot, job) for robot, queue in found.queues.items() for job in queue}
    assert "away" in found.queues["ada"]


def test_a_free_robot_begins_only_what_it_may_and_what_goes_together():
    workers = {"ada": Worker((0, 0)), "bob": Worker((9, 0))}
    jobs = {"near": Job((0, 0), (0, 0)), "away": Job((9, 0), (9, 0))}
    assert Scheduler(workers, jobs).best().first(["ada", "bob"]) == {"ada": "near", "bob": "away"}
    allowed = Scheduler(workers, jobs, may_begin=lambda robot, job: (robot, job) != ("bob", "away")).best()
    assert allowed.queues["bob"][:1] != ("away",)
    apart = Scheduler(workers, jobs, together=lambda _one, _other: False).best()
    assert len(apart.first(["ada", "bob"])) == 1


def test_robots_work_in_different_areas_where_that_costs_little():
    workers = {"ada": Worker((0, 0)), "bob": Worker((0, 1))}
    jobs = {
        "a": Job((1, 0), (2, 0), "kitchen", "kitchen"),
        "b": Job((1, 0), (2, 0), "kitchen", "kitchen"),
        "c": Job((1, 1), (2, 1), "hall", "hall"),
        "d": Job((1, 1), (2, 1), "hall", "hall"),
    }
    begun = Scheduler(workers, jobs).best().first(["ada", "bob"])
    assert jobs[begun["ada"]].start_area != jobs[begun["bob"]].start_area


def test_a_robot_begins_elsewhere_while_another_one_is_where_its_nearest_job_is():
    jobs = {"here": Job((0, 0), (3, 0), "kitchen", "hall"), "away": Job((4, 0), (7, 0), "hall", "bedroom")}
    for visit, begun in (((), "here"), ((("kitchen", 5.0, 30.0),), "away"), ((("kitchen", 90.0, 110.0),), "here")):
        workers = {"ada": Worker((0, 0)), "bob": Worker(None, Course(300.0, visits=visit))}
        assert Scheduler(workers, jobs).best().first(["ada"]) == {"ada": begun}, visit


@pytest.mark.parametrize("robots", [2, 3, 4])
def test_all_robots_work_where_there_is_one_area_only(robots):
    workers = {f"robot{number}": Worker((0, number)) for number in range(robots)}
    jobs = {f"thing {number}": Job((2, number), (2, number), "studio", "studio") for number in range(robots)}
    assert set(Scheduler(workers, jobs).best().first(list(workers))) == set(workers)


def test_how_long_two_robots_are_in_the_same_area():
    job = Job((4, 0), (8, 0), "kitchen", "hall")
    there, on = WAYS.seconds((0, 0), (4, 0)), WAYS.seconds((4, 0), (8, 0))
    seen = job.course(WAYS, (0, 0)).visits
    arrival = there + PICK_S + on
    assert seen == (("kitchen", there, there + PICK_S), ("hall", arrival, arrival + PLACE_S))
    held = Job((4, 0), (8, 0), "kitchen", "hall", "ada").course(WAYS, (0, 0), "ada")
    assert held.visits == (("hall", pytest.approx(held.end_s - PLACE_S), held.end_s),)
    assert meeting_s(seen, (("kitchen", 20.0, 99.0),)) == pytest.approx(there + PICK_S - 20.0 + MEETING_MARGIN_S)
    assert meeting_s(seen, (("kitchen", 90.0, 99.0), ("bedroom", 0.0, 99.0))) == 0
    assert meeting_s((("", 0.0, 9.0),), (("", 0.0, 9.0),)) == 0, "it is not known where"


def test_a_robot_that_is_left_out_waits_for_the_first_of_the_others():
    workers = {"ada": Worker((0, 0)), "bob": Worker((0, 0))}
    jobs = {name: Job((0, 0), (0, 0)) for name in ("a", "b")}
    scheduler = Scheduler(workers, jobs)
    assert scheduler.best().end_s == pytest.approx(HANDLING_S)
    left_out = scheduler.best({"ada": "a"})
    assert left_out.queues["ada"][0] == "a"
    assert left_out.end_s == pytest.approx(2 * HANDLING_S)
    assert scheduler.best().end_s == pytest.approx(HANDLING_S), "nothing is left of what was asked before"


def test_what_a_robot_holds_is_its_first_job():
    workers = {"ada": Worker((0, 0)), "bob": Worker((4, 0))}
    jobs = {"held": Job((4, 0), (4, 0), held_by="ada"), "other": Job((0, 0), (0, 0))}
    found = Scheduler(workers, jobs).best()
    assert found.queues["ada"][0] == "held"
    assert jobs["held"].duration(WAYS, (0, 0), "ada") == pytest.approx(WAYS.seconds((0, 0), (4, 0)) + PLACE_S)


def test_a_robot_takes_the_errand_on_whose_way_it_meets_nobody():
    """Both lie where ada stands; bob is about to come from where one of them goes."""
    jobs = {"there": Job((0, 0), (12, 0)), "away": Job((0, 0), (0, 12.5))}
    coming = Job((12, 0), (0, 0)).course(WAYS, (12, 0))
    for drives, begun, delay in (((), "there", 0.0), (coming.drives, "away", ENCOUNTER_S)):
        scheduler = Scheduler({"ada": Worker((0, 0)), "bob": Worker((0, 0), Course(300.0, drives))}, jobs)
        assert scheduler.best().first(["ada"]) == {"ada": begun}
        assert scheduler.delays(("ada", "there"), ("bob", "")) == (delay, delay)


def test_a_robot_that_works_in_the_way_of_another_holds_it_up():
    jobs = {"through": Job((0, 0), (12, 0)), "in the way": Job((6, 0), (6, 0))}
    scheduler = Scheduler({"ada": Worker((0, 0)), "bob": Worker((6, 0))}, jobs)
    assert scheduler.delays(("ada", "through"), ("bob", "in the way")) == (ENCOUNTER_S, 0.0)
    assert scheduler.best({"ada": "through", "bob": "in the way"}).end_s == pytest.approx(
        ENCOUNTER_S + jobs["through"].duration(WAYS, (0, 0))
    )


def test_a_robot_that_would_meet_all_others_does_not_wait_for_one_of_them():
    """Three come towards it, one after the other: they pass it while it stands aside once."""
    jobs = {"there": Job((0, 0), (12, 0))}
    coming = Job((12, 0), (0, 0)).course(WAYS, (12, 0))
    others = {f"robot{number}": Worker((0, number), Course(60.0, coming.drives)) for number in range(3)}
    assert Scheduler({"ada": Worker((0, 0)), **others}, jobs).best().end_s == pytest.approx(
        jobs["there"].duration(WAYS, (0, 0)) + ENCOUNTER_S
    )


def test_an_errand_is_not_left_to_a_robot_at_work_that_would_meet_the_same_robot_there():
    """cy comes to where ada stands, whoever has an errand there: bob, who is at work, would meet cy as well."""
    workers = {
        "ada": Worker((0, 0)),
        "bob": Worker((4, 8), Course(8.0)),
        "cy": Worker(None, Course(90.0, visits=(("bedroom", 15.0, 60.0),))),
    }
    jobs = {"here": Job((0, 0), (4, 0), "bedroom", "kitchen"), "away": Job((0, 8), (4, 8), "hall", "hall")}
    assert Scheduler(workers, jobs).best().queues == {"ada": ("here",), "bob": ("away",), "cy": ()}
