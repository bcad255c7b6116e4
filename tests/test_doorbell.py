"""Processes that share a data directory wake each other, however busy they are."""

import sqlite3
from pathlib import Path

import anyio
import pytest
from aipm_devkit.testing import running
from aipm_store.process_wakeups import Doorbell

from aipm_core import Event, Tx
from aipm_core.errors import StoreError


def test_a_process_too_busy_to_listen_is_told_later(tmp_path: Path) -> None:
    one, other = Doorbell(tmp_path), Doorbell(tmp_path)
    try:
        topics = {f"topic-{number}" for number in range(500)}
        owing = [one.ring({topic}) for topic in topics]  # far more than a socket holds
        assert owing[0] is False
        assert owing[-1] is True
        heard = set(other.heard() or ())
        while one.ring(set()):
            heard |= set(other.heard() or ())
        heard |= set(other.heard() or ())
        assert heard == topics
        assert other.heard() == []
    finally:
        one.close()
        other.close()


async def test_a_burst_of_another_process_loses_no_wakeup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aipm_store.sqlite._SAFETY_LOOK", 3600)
    async with running(data_dir=tmp_path) as one, running(data_dir=tmp_path) as other:
        woken: list[int] = []

        async def wait(number: int) -> None:
            async def look() -> bool | None:
                return (
                    await other.runtime.store.one(
                        "select 1 from event_streams where stream = ?", f"s{number}"
                    )
                    is not None
                    or None
                )

            if await other.runtime.store.wait_until((f"events:s{number}",), look, 3600):
                woken.append(number)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(wait, number)
                await anyio.wait_all_tasks_blocked()
                for number in range(200):
                    await one.runtime.events.publish(
                        Event(type="x", payload={}, session_id=f"s{number}")
                    )
        assert len(woken) == 200


async def test_too_many_topics_for_one_message_wake_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aipm_store.sqlite._SAFETY_LOOK", 3600)
    looks = 0

    async def look() -> bool | None:
        nonlocal looks
        looks += 1
        return looks > 1 or None

    async def wake_many(tx: Tx) -> None:
        tx.wake(*(f"topic-{number:0>100}" for number in range(500)))

    async with running(data_dir=tmp_path) as one, running(data_dir=tmp_path) as other:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(other.runtime.store.wait_until, ("another",), look, 3600)
                await anyio.wait_all_tasks_blocked()
                await one.runtime.store.write(wake_many)
    assert looks == 2


async def test_a_write_that_nobody_announces_is_found_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may die between its commit and its ring."""
    monkeypatch.setattr("aipm_store.sqlite._SAFETY_LOOK", 0.05)
    sql = "insert into event_streams (stream, last_seq) values ('silent', 0)"
    async with running(data_dir=tmp_path) as aipm:
        store = aipm.runtime.store

        async def look() -> bool | None:
            row = await store.one("select 1 from event_streams where stream = 'silent'")
            return row is not None or None

        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                assert await store.wait_until(("nobody rings this",), look, 20)

            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            with sqlite3.connect(tmp_path / "aipm.db") as connection:
                connection.execute(sql)
            connection.close()


def test_what_is_left_of_other_processes_disturbs_nobody(tmp_path: Path) -> None:
    one, gone = Doorbell(tmp_path), Doorbell(tmp_path)
    room = tmp_path / "bells"
    (left,) = [file for file in room.iterdir() if file != one._own]
    gone.socket.close()  # killed: its name stays
    (room / "dangling.bell").symlink_to(tmp_path / "nowhere")
    try:
        assert one.ring({"x"}) is False
        assert not left.exists()
    finally:
        one.close()
        gone._sender.close()


def test_a_room_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bells").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: (tmp_path / "bells").stat().st_uid + 1)
    with pytest.raises(StoreError, match="bells belongs to another user"):
        Doorbell(tmp_path)
