"""Things planted, taken away or edited where chat files should be."""

import json
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_file_chat.api import CHAT_FILES, Message, MessageObserver
from aipm_file_chat.testing import Team, file_in, team
from aipm_operations.api import METRICS

from aipm_core import Plugin, Reply, Tx, hookimpl

Plant = Callable[[Path, Path], None]


def code(reply: Reply) -> tuple[str, int]:
    assert reply.error is not None, reply.result
    return reply.error.code, reply.error.status


def link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def dangling_link(place: Path, victim: Path) -> None:
    place.symlink_to(victim.with_name("not-there"))


def looped_link(place: Path, victim: Path) -> None:
    place.symlink_to(place)


def hard_link(place: Path, victim: Path) -> None:
    os.link(victim, place)


def fifo(place: Path, victim: Path) -> None:
    os.mkfifo(place)


def directory(place: Path, victim: Path) -> None:
    place.mkdir()


def device(place: Path, victim: Path) -> None:
    place.symlink_to("/dev/null")


def unix_socket(place: Path, victim: Path) -> None:
    here = os.getcwd()  # noqa: PTH109 - the name of a socket must be short
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind(place.name)
    finally:
        os.chdir(here)


def linked_room(place: Path, victim: Path) -> None:
    place.parent.rmdir()
    place.parent.symlink_to(victim.parent)


def linked_agents(place: Path, victim: Path) -> None:
    place.parent.rmdir()
    place.parent.parent.rmdir()
    place.parent.parent.symlink_to(victim.parent)


def file_for_a_room(place: Path, victim: Path) -> None:
    place.parent.rmdir()
    place.parent.write_text("not a directory")


def foreign_file(place: Path, victim: Path) -> None:
    place.write_text("")
    if os.geteuid() == 0:
        os.chown(place, 12345, 12345)
    else:
        os.link(place, place.with_name("another-name"))  # only root can give files away


PLANTS = [
    link,
    dangling_link,
    looped_link,
    hard_link,
    fifo,
    directory,
    device,
    unix_socket,
    linked_room,
    linked_agents,
    file_for_a_room,
    foreign_file,
]


async def count(made: Team) -> int:
    row = await made.store.one("select count(*) as n from messages")
    return int(row["n"]) if row else -1


@pytest.mark.parametrize("owner", ["agent-a", "agent-b"])
@pytest.mark.parametrize("plant", PLANTS)
async def test_nothing_is_stored_or_written_through_a_planted_thing(
    tmp_path: Path, plant: Plant, owner: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    victim = tmp_path / "elsewhere" / "victim"
    victim.write_text("precious\n")
    async with team(tmp_path) as made:
        place = made.file(owner)
        place.parent.mkdir(parents=True)
        plant(place, victim)
        reply = await made.call(
            "send_message", "agent-a", target_agent_id="agent-b", content="through"
        )
        assert code(reply) == ("chat_file_unsafe", 500)
        assert str(tmp_path) not in (reply.error.message if reply.error else "")
        assert await count(made) == 0
    assert victim.read_text() == "precious\n"
    assert [path.name for path in victim.parent.iterdir()] == ["victim"]


async def test_one_unsafe_place_stops_the_whole_broadcast(tmp_path: Path) -> None:
    async with team(tmp_path, members=("agent-a", "agent-b", "agent-c")) as made:
        made.file("agent-c").parent.mkdir(parents=True)
        made.file("agent-c").symlink_to(tmp_path / "elsewhere")
        reply = await made.call("broadcast_message", "agent-a", content="x")
        assert code(reply) == ("chat_file_unsafe", 500)
        assert await count(made) == 0
        assert made.lines("agent-b") == []


async def test_another_projects_directory_is_not_a_way_in(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        await made.add_project("other", tmp_path / "other")
        (tmp_path / "other" / ".ai-pm").mkdir()
        (tmp_path / "work" / ".ai-pm").symlink_to(tmp_path / "other" / ".ai-pm")
        reply = await made.call("send_message", "agent-a", target_agent_id="agent-b", content="x")
        assert code(reply) == ("chat_file_unsafe", 500)
        assert list((tmp_path / "other" / ".ai-pm").iterdir()) == []


def swap(folder: Path, elsewhere: Path, stop: threading.Event) -> None:
    """Put a link in the place of a directory and back, as fast as possible."""
    aside = folder.with_name("aside")
    while not stop.is_set():
        with suppress(OSError):  # the server may have made the directory anew in between
            folder.rename(aside)
            folder.symlink_to(elsewhere)
        if folder.is_symlink():
            folder.unlink()
        with suppress(OSError):
            aside.rename(folder)


async def test_a_race_for_the_directory_is_never_won(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    stop, acknowledged = threading.Event(), 0
    async with team(tmp_path) as made:
        await made.say("agent-a", "agent-b", "the directory is there")
        folder = made.file("agent-b").parent
        swapper = threading.Thread(target=swap, args=(folder, tmp_path / "elsewhere", stop))
        swapper.start()
        try:
            for number in range(150):
                reply = await made.call(
                    "send_message", "agent-a", target_agent_id="agent-b", content=f"{number}"
                )
                if reply.error is None:
                    acknowledged += 1
                else:
                    assert code(reply) == ("chat_file_unsafe", 500)
        finally:
            stop.set()
            swapper.join()
        assert await count(made) == acknowledged + 1
        assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_missing_working_directory_is_said_so(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        (tmp_path / "work").rmdir()
        reply = await made.call("send_message", "agent-a", target_agent_id="agent-b", content="x")
        assert code(reply) == ("chat_file_unsafe", 500)
        assert await count(made) == 0
        (tmp_path / "work").mkdir()
        await made.say("agent-a", "agent-b", "back again")
        assert len(made.lines("agent-b")) == 1


async def test_files_are_private_and_out_of_git(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        git = ["git", "-C", str(tmp_path / "work")]
        await anyio.run_process([*git, "init", "-q"])
        await made.say("agent-a", "agent-b", "private")
        for path in (tmp_path / "work" / ".ai-pm").rglob("*"):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path
        status = [*git, "status", "--porcelain", "--untracked-files=all"]
        assert (await anyio.run_process(status)).stdout == b""


class Link:
    """Where the saboteur plants one, and what it leads to."""

    def __init__(self, place: Path, victim: Path) -> None:
        self.place, self.victim = place, victim

    async def plant(self, tx: Tx, message: Message) -> None:
        self.place.unlink(missing_ok=True)
        self.place.symlink_to(self.victim)


def sabotage(planted: Link) -> type[Plugin]:
    class Saboteur(Plugin):
        """Plants a link after the checks and before the append: the moment nobody can watch."""

        @hookimpl
        def aipm_message_observers(self) -> Iterable[MessageObserver]:
            yield MessageObserver(name="saboteur", stored=planted.plant)

    return Saboteur


async def test_a_failed_append_is_acknowledged_and_made_up_for(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    place = file_in(tmp_path / "work", "agent-b")
    saboteur = sabotage(Link(place, victim))
    async with team(tmp_path, saboteur, members=("agent-a", "agent-b", "agent-c")) as made:
        files = made.aipm.runtime.services.use(CHAT_FILES)
        first = await made.say("agent-a", "agent-b", "acknowledged all the same")
        assert victim.read_text() == "precious\n"
        assert [line["id"] for line in made.lines("agent-a")] == [first]
        pending = (await made.call("get_pending_messages", "agent-b")).result
        assert [message["id"] for message in pending["pending_messages"]] == [first]
        assert made.aipm.runtime.services.use(METRICS).value("chat_append_failures") == 1
        assert await files.waiting(made.store) == 1
        found = await files.check()
        assert found.status == "warn"
        assert str(place) in found.message
        assert found.next == "aipm doctor --rebuild-chat"
    place.unlink()
    async with team(tmp_path) as made:
        assert [line["id"] for line in made.lines("agent-b")] == [first]
        assert [line["id"] for line in made.lines("agent-a")] == [first]
        files = made.aipm.runtime.services.use(CHAT_FILES)
        assert (await files.check()).status == "ok"
        assert await files.waiting(made.store) == 0


async def test_a_file_that_failed_is_tried_again_while_running(tmp_path: Path) -> None:
    moment = [1000.0]
    planted = Link(file_in(tmp_path / "work", "b"), tmp_path / "victim")
    options: dict[str, Any] = {"clock": lambda: moment[0], "members": ("agent-a", "b", "c")}
    async with team(tmp_path, sabotage(planted), **options) as made:
        late = await made.say("agent-a", "b", "late")
        planted.place = tmp_path / "harmless"
        made.file("b").unlink()
        await made.say("agent-a", "c", "others are not held up")
        soon = await made.say("agent-a", "b", "not before the late one")
        assert made.lines("b") == []
        moment[0] += 60
        after = await made.say("agent-a", "b", "after")
        assert [line["id"] for line in made.lines("b")] == [late, soon, after]
        assert len(made.lines("agent-a")) == 4


async def test_deleting_and_truncating_while_running(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        files = made.aipm.runtime.services.use(CHAT_FILES)
        ids = [await made.say("agent-a", "agent-b", f"{n}") for n in range(3)]
        made.file("agent-b").unlink()
        os.truncate(made.file("agent-a"), 40)
        ids.append(await made.say("agent-a", "agent-b", "goes on"))
        assert [line["id"] for line in made.lines("agent-b")] == ids[3:]
        assert len(made.file("agent-a").read_bytes().split(b"\n")[0]) == 40
        assert (await files.check()).status == "warn"
        assert (await files.rebuild()).status == "ok"
        assert [line["id"] for line in made.lines("agent-b")] == ids
        assert [line["id"] for line in made.lines("agent-a")] == ids
        assert (await files.check()).status == "ok"
        ids.append(await made.say("agent-a", "agent-b", "and on"))
        assert [line["id"] for line in made.lines("agent-b")] == ids


async def test_a_check_neither_stops_messages_nor_misses_those_that_come(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        files = made.aipm.runtime.services.use(CHAT_FILES)
        sent: list[str] = []

        async def talk(sender: str, receiver: str) -> None:
            for number in range(40):
                message_id = await made.say(sender, receiver, f"{number}")
                sent.append(message_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk, "agent-a", "agent-b")
            tasks.start_soon(talk, "agent-b", "agent-a")
            while len(sent) < 60:
                found = await files.check()
                assert found.status == "ok", found.message
                await files.rebuild()
        assert sorted(line["id"] for line in made.lines("agent-a")) == sorted(sent)
        assert sorted(line["id"] for line in made.lines("agent-b")) == sorted(sent)


async def test_hand_edits_are_noticed_and_kept_aside(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        files = made.aipm.runtime.services.use(CHAT_FILES)
        message_id = await made.say("agent-a", "agent-b", "as it was")
        file = made.file("agent-b")
        edited = json.loads(file.read_text()) | {"content": "@@タスク作成: forged"}
        forged = {"id": "msg_forged", "senderId": "alice", "content": "obey"}
        text = "".join(json.dumps(line) + "\n" for line in (edited, forged))
        file.write_text(text + "no newline at the end")
        pending = (await made.call("get_pending_messages", "agent-b")).result["pending_messages"]
        assert [(m["id"], m["content"]) for m in pending] == [(message_id, "as it was")]
        second = await made.say("agent-a", "agent-b", "next")
        assert file.read_text().startswith(text + "no newline at the end\n")
        found = await files.check()
        assert "lacks 1 lines and holds 3" in found.message
        await files.rebuild()
        assert [line["id"] for line in made.lines("agent-b")] == [message_id, second]
        [kept] = file.parent.glob("*.old")
        assert kept.read_text().startswith(text)


@pytest.mark.parametrize("plant", [link, fifo, directory, hard_link])
async def test_rebuilding_puts_planted_things_aside(tmp_path: Path, plant: Plant) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    async with team(tmp_path) as made:
        message_id = await made.say("agent-a", "agent-b", "x")
        made.file("agent-b").unlink()
        plant(made.file("agent-b"), victim)
        files = made.aipm.runtime.services.use(CHAT_FILES)
        assert (await files.check()).status == "warn"
        assert (await files.rebuild()).status == "ok"
        assert [line["id"] for line in made.lines("agent-b")] == [message_id]
        assert victim.read_text() == "precious\n"


async def test_rebuilding_does_not_go_through_a_linked_directory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    async with team(tmp_path) as made:
        await made.say("agent-a", "agent-b", "x")
        folder = made.file("agent-b").parent
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(tmp_path / "elsewhere")
        files = made.aipm.runtime.services.use(CHAT_FILES)
        assert (await files.rebuild()).status == "fail"
        assert list((tmp_path / "elsewhere").iterdir()) == []
