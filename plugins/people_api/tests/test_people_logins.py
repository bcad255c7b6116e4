"""People log in with a passkey or a code, and out again."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from aipm_sessions.people_login import normalised
from tests.people import House, house


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("logins")) as made:
        yield made


def login(home: House, **body: str) -> tuple[int, dict[str, object]]:
    with home.http() as http:
        reply = http.post("/login", json=body)
        return reply.status_code, reply.json()


def code(home: House, person: str) -> str:
    url = home.install.json("open", "--as", person, "--print")["url"]
    return str(url.partition("/#code=")[2])


def run(home: House, sql: str, *values: object) -> list[tuple[object, ...]]:
    database = home.install.root / ".aipm-data/aipm.db"
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        return connection.execute(sql, values).fetchall()


def test_a_passkey_opens_a_login(home: House) -> None:
    status, made = login(home, agent_id="mia", passkey=home.passkeys["mia"])
    assert status == 200
    assert made["person"] == {"id": "mia", "name": "Mia", "role": "manager"}
    assert made["expires_in"] == 12 * 3600
    token = str(made["token"])
    with home.http(token) as http:
        assert http.get("/tools").status_code == 200
    files = home.install.root.glob(".aipm-data/*")
    assert not any(token.encode() in file.read_bytes() for file in files if file.is_file())


def test_a_code_works_once_however_it_is_typed(home: House) -> None:
    made = code(home, "max")
    assert len(made) == 8
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in made[:4].lower())
    status, logged_in = login(home, code=f" {wide}-{made[4:]} ")
    assert (status, logged_in["person"]) == (200, {"id": "max", "name": "Max", "role": "worker"})
    status, again = login(home, code=made)
    assert (status, again["error"]["code"]) == (401, "invalid_credentials")  # type: ignore[index]


def test_a_code_is_kept_as_a_hash_and_ends(home: House) -> None:
    made = code(home, "mia")
    files = home.install.root.glob(".aipm-data/*")
    assert not any(made.encode() in file.read_bytes() for file in files if file.is_file())
    run(home, "update login_codes set expires_at = ?", time.time() - 1)
    assert login(home, code=made)[0] == 401


def test_what_is_no_login_is_told_so(home: House) -> None:
    with home.http() as http:
        wrong: tuple[object, ...] = ({}, {"code": 5}, {"agent_id": "mia"}, [])
        for body in (*wrong, {"code": "x", "agent_id": "mia"}):
            reply = http.post("/login", json=body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_arguments")
        reply = http.post("/login", content=b"{", headers={"content-type": "application/json"})
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_arguments")
        reply = http.post("/login", data={"code": "x"})
        assert reply.status_code in (400, 415)


@pytest.mark.parametrize("who", ["bot", "nobody", "Mia", "mia"])
def test_everything_wrong_gets_one_answer(home: House, who: str) -> None:
    passkey = home.passkeys["bot"] if who == "bot" else "aipm_pk_guess"
    status, made = login(home, agent_id=who, passkey=passkey)
    assert status == 401
    assert made == login(home, code="22222222")[1]
    run(home, "delete from login_attempts")


def test_five_failures_then_none_for_a_while(home: House) -> None:
    wrong = [login(home, agent_id="max", passkey="guess")[0] for _ in range(6)]
    assert wrong == [401] * 5 + [429]
    assert login(home, agent_id="max", passkey=home.passkeys["max"])[0] == 429
    assert login(home, agent_id="mia", passkey=home.passkeys["mia"])[0] == 200
    wrong = [login(home, code="22222222")[0] for _ in range(6)]
    assert wrong == [401] * 5 + [429]
    run(home, "delete from login_attempts")


def test_a_logout_ends_one_token(home: House) -> None:
    first, second = home.token("mia"), home.token("mia")
    with home.http(first) as one, home.http(second) as two:
        assert one.post("/logout").json() == {"success": True}
        assert one.get("/tools").json()["error"]["code"] == "session_invalid"
        assert one.post("/logout").status_code == 401
        assert two.get("/tools").status_code == 200


def test_a_login_in_use_goes_on_and_an_unused_one_ends(home: House) -> None:
    token = home.token("mia")
    newest = run(home, "select id from ui_tokens order by rowid desc limit 1")[0][0]
    sql = "update ui_tokens set expires_at = ? where id = ?"
    run(home, sql, time.time() + 60, newest)
    with home.http(token) as http:
        assert http.get("/tools").status_code == 200
        (ends,) = run(home, "select expires_at from ui_tokens where id = ?", newest)[0]
        assert isinstance(ends, float)
        assert ends > time.time() + 3600
        run(home, sql, time.time() - 1, newest)
        assert http.get("/tools").status_code == 401


def test_the_command_says_who_is_missing(home: House) -> None:
    assert home.install.run("open", "--as", "bot", "--print", check=4).stderr
    assert home.install.run("open", "--as", "nobody", "--print", check=3).stderr
    assert "--as: eve, max, mia" in home.install.run("open", "--print", check=2).stderr
    printed = home.install.run("open", "--as", "mia", "--print").stdout
    assert printed.startswith(f"{home.server.url}/#code=")


def test_a_code_is_the_same_in_every_spelling() -> None:
    assert normalised("ａｂ2 3-cd\u301045") == "AB23CD45"


def test_there_is_nothing_to_log_in_to_without_people(tmp_path: Path) -> None:
    from aipm_devkit.program import Install

    install = Install.make(tmp_path)
    assert "no person" in install.run("open", "--print", check=2).stderr
