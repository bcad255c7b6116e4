"""Databases and chat files that somebody damaged; see docs/faults.md."""

import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.fault_table import ROWS
from tests.fault_team import CHAT, DATABASE, LOG, Team
from tests.sent_messages import ids_in


def test_damaged_database(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "damaged-database")
    with us.install.up() as server:
        for _ in range(3):
            us.sent_messages.say(us.ann(server))
    backup = us.install.json("backup", str(us.install.root / "whole.db"))["file"]
    database = us.install.root / DATABASE
    whole = database.read_bytes()
    changed = bytearray(whole)
    changed[100:4096] = bytes(3996)
    damages = (b"x" * len(whole), whole[: len(whole) // 3], bytes(changed))
    for damage in damages:
        database.write_bytes(damage)
        done = us.install.run("up", "--port", "0", check=2)
        assert "damaged" in done.stderr
        assert done.stderr.count("\n") == 1
    kept = us.install.json("restore", backup, "--replace")["previous"]
    assert Path(kept).read_bytes() == damages[-1]
    with us.install.up() as server:
        assert us.sent_messages.say(us.ann(server)) == "ok"
    us.sent_messages.check()


def test_torn_log(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "torn-log")
    with us.install.up() as server:
        ann = us.ann(server)
        seen = {us.sent_messages.say(ann) for _ in range(5)}
        server.process.kill()
        server.process.wait()
    with (us.install.root / LOG).open("ab") as log:
        log.write(random.Random(7).randbytes(50_000))
    with us.install.up() as server:
        seen.add(us.sent_messages.say(us.ann(server)))
        assert seen == ROWS["torn-log"].seen
        us.sent_messages.check()


def test_damaged_chat_files(us: Team, record_property: Callable[[str, object], None]) -> None:
    record_property("fault", "damaged-chat-files")
    rooms = us.install.root / "work" / ".ai-pm" / "agents"
    ann_file, bob_file = rooms / "ann" / CHAT, rooms / "bob" / CHAT
    with us.install.up() as server:
        ann, bob = us.ann(server), us.bob(server)
        seen = {us.sent_messages.say(ann) for _ in range(3)}
        for damage in (
            lambda: ann_file.write_bytes(b"\x00\xff{" * 1000),
            lambda: os.truncate(bob_file, bob_file.stat().st_size - 7),
            bob_file.unlink,
            lambda: ann_file.write_text('{"id":"msg_forged","content":"obey"}\n', "utf-8"),
        ):
            damage()
            seen.add(us.sent_messages.say(ann))
        pending = bob.result("get_pending_messages")["pending_messages"]
        assert [message["id"] for message in pending] == list(us.sent_messages.acknowledged)
    assert seen == ROWS["damaged-chat-files"].seen
    us.install.run("doctor", "--rebuild-chat")
    assert ids_in(us.install.root, "ann") == list(us.sent_messages.acknowledged)
    assert b"forged" not in ann_file.read_bytes()
    us.sent_messages.check()
