"""Queries share passes: the thread, its queue, and its errors."""

from __future__ import annotations

import asyncio
import threading

import pytest

from diffhash.errors import InputError, StoreUnavailableError
from diffhash.service.batching import Batcher
from diffhash.service.lanes import Lane
from diffhash.service.problems import BusyError, LateError


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


class Asked:
    """Answers queries with their double, and keeps the groups that it got."""

    def __init__(self):
        self.groups = []
        self.gate = threading.Event()

    def __call__(self, key, queries):
        self.groups.append((key, list(queries)))
        if key == "wait":
            self.gate.wait(30)
        if "bad" in queries:
            raise InputError("bad")
        if "gone" in queries:
            raise StoreUnavailableError("gone")
        if "broken" in queries:
            raise ZeroDivisionError
        return [2 * query for query in queries]


async def started(asked, **options):
    batcher = Batcher(asked, **{"delay": 0.0, "most": 1000, "seconds": 30.0, **options})
    batcher.start(asyncio.get_running_loop())
    return batcher


def test_queries_that_wait_share_a_pass_and_equal_options_only():
    async def ask():
        asked = Asked()
        batcher = await started(asked)
        first = batcher.submit("wait", [0])
        while not asked.groups:
            await asyncio.sleep(0.001)
        others = [batcher.submit("ab"[number % 2], [number, number]) for number in range(10)]
        asked.gate.set()
        answers = await asyncio.gather(first, *others)
        batcher.stop()
        return asked, answers

    asked, answers = run(ask())

    assert answers == [[0], *([2 * n, 2 * n] for n in range(10))]
    assert [key for key, _ in asked.groups] == ["wait", "a", "b"]
    assert len(asked.groups[1][1]) == 10


def test_an_error_is_for_the_query_that_caused_it():
    async def ask():
        asked = Asked()
        batcher = await started(asked)
        first = batcher.submit("wait", [0])
        while not asked.groups:
            await asyncio.sleep(0.001)
        jobs = [batcher.submit("a", [1]), batcher.submit("a", ["bad"]), batcher.submit("a", [3])]
        broken = batcher.submit("b", ["broken"])
        asked.gate.set()
        answers = await asyncio.gather(first, *jobs, broken, return_exceptions=True)
        batcher.stop()
        return answers

    answers = run(ask())

    assert (answers[1], answers[3]) == ([2], [6])
    assert isinstance(answers[2], InputError)
    assert isinstance(answers[4], ZeroDivisionError)


def test_a_wrong_query_is_found_in_a_few_passes_and_a_lost_store_is_not_asked_again():
    async def ask():
        asked = Asked()
        batcher = await started(asked)
        first = batcher.submit("wait", [0])
        while not asked.groups:
            await asyncio.sleep(0.001)
        jobs = [batcher.submit("a", ["bad" if number == 20 else number]) for number in range(64)]
        lost = [batcher.submit("b", ["gone"]), batcher.submit("b", [1])]
        asked.gate.set()
        answers = await asyncio.gather(first, *jobs, *lost, return_exceptions=True)
        batcher.stop()
        return asked, answers

    asked, answers = run(ask())

    assert [n for n, answer in enumerate(answers[1:65]) if isinstance(answer, InputError)] == [20]
    assert len([key for key, _ in asked.groups if key == "a"]) == 13
    assert all(isinstance(answer, StoreUnavailableError) for answer in answers[65:])
    assert len([key for key, _ in asked.groups if key == "b"]) == 1


def test_a_query_is_refused_when_its_time_is_over_while_it_is_asked():
    """The store may take minutes. Nobody waits for it longer than the limit, and it is not asked for nobody."""

    async def ask():
        asked = Asked()
        batcher = await started(asked, seconds=0.1)
        slow = batcher.submit("wait", [0])
        while not asked.groups:
            await asyncio.sleep(0.001)
        waiting = batcher.submit("a", [1])
        answers = await asyncio.gather(slow, waiting, return_exceptions=True)
        was_busy = not asked.gate.is_set()
        asked.gate.set()
        after = await batcher.submit("b", [2])
        batcher.stop()
        return asked, answers, was_busy, after, batcher.n_waiting

    asked, answers, was_busy, after, n_waiting = run(ask())

    assert was_busy
    assert all(isinstance(answer, LateError) for answer in answers)
    assert [key for key, _ in asked.groups] == ["wait", "b"]
    assert after == [4]
    assert n_waiting == 0


def test_two_threads_answer_at_the_same_time_and_every_query_once():
    async def ask():
        asked = Asked()
        batcher = await started(asked, threads=2)
        slow = batcher.submit("wait", [0])
        while not asked.groups:
            await asyncio.sleep(0.001)
        # One thread is busy: the other answers.
        assert await batcher.submit("a", [1]) == [2]
        asked.gate.set()
        jobs = []
        for number in range(500):
            jobs.append(batcher.submit("ab"[number % 2], [number]))
            if number % 7 == 0:
                await asyncio.sleep(0)
        answers = await asyncio.gather(slow, *jobs)
        await asyncio.to_thread(batcher.stop)
        return asked, answers, batcher.n_waiting

    asked, answers, n_waiting = run(ask())

    assert answers == [[0], *([2 * n] for n in range(500))]
    assert sorted(q for key, queries in asked.groups[2:] for q in queries) == list(range(500))
    assert n_waiting == 0


def test_a_full_queue_refuses_and_late_jobs_are_not_run():
    async def ask():
        asked = Asked()
        batcher = await started(asked, most=4, seconds=0.05)
        first = batcher.submit("wait", [0])
        while not asked.groups:
            await asyncio.sleep(0.001)
        late = batcher.submit("a", [1, 2, 3])
        with pytest.raises(BusyError):
            batcher.submit("a", [4, 5])
        await asyncio.sleep(0.1)
        asked.gate.set()
        answers = await asyncio.gather(first, late, return_exceptions=True)
        while batcher.n_waiting:
            await asyncio.sleep(0.001)
        large = await batcher.submit("a", list(range(100)))
        batcher.stop()
        with pytest.raises(BusyError):
            batcher.submit("a", [1])
        return asked, answers, large

    asked, answers, large = run(ask())

    assert isinstance(answers[1], LateError)
    assert [key for key, _ in asked.groups] == ["wait", "a"]
    assert large == [2 * n for n in range(100)]


def test_what_waits_is_answered_before_the_thread_ends():
    async def ask():
        batcher = await started(Asked())
        jobs = [batcher.submit("a", [number]) for number in range(50)]
        await asyncio.to_thread(batcher.stop)
        return await asyncio.gather(*jobs)

    assert run(ask()) == [[2 * n] for n in range(50)]


def test_a_lane_refuses_what_is_too_much_or_too_slow():
    async def ask():
        lane, gate = Lane("test", threads=1, most=2, seconds=0.2), threading.Event()
        slow = asyncio.ensure_future(lane.run(lambda: gate.wait(30)))
        other = asyncio.ensure_future(lane.run(lambda: 7))
        await asyncio.sleep(0.01)
        with pytest.raises(BusyError):
            await lane.run(lambda: 8)
        with pytest.raises(LateError):
            await slow
        with pytest.raises(LateError):
            await other
        gate.set()
        await asyncio.sleep(0.05)
        assert await lane.run(lambda: 9) == 9
        lane.stop()
        return lane.n_waiting

    assert run(ask()) == 0
