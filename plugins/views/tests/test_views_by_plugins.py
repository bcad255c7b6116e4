"""What a plugin's author can do with views, and what happens when it goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import pytest
from aipm_devkit.testing import running
from aipm_sessions.plugin import Sessions
from aipm_sessions.testing import Team
from aipm_views.api import VIEWS, Ids, Record, View, ViewFields
from aipm_views.plugin import Views
from aipm_views.testing import Follower, check_fold_law
from aipm_views.topics import TopicPattern, Touch

from aipm_core import Migration, Plugin, PluginError, Reader, Tx, hookimpl

TABLE = """
    create table weather (project_id text not null, place text not null, degrees integer not null,
        secret_of text, primary key (project_id, place))
"""
PUT = (
    "insert into weather (project_id, place, degrees, secret_of) values (?, ?, ?, ?) "
    "on conflict (project_id, place) do update set degrees = excluded.degrees, "
    "secret_of = excluded.secret_of"
)


class Weather(Plugin):
    """A view of its own, as the documentation shows it."""

    broken = False
    reads: list[Ids]

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        yield Migration(name="0001_weather", sql=TABLE)

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        yield View(name="weather", topics=("weather:{project}:{id}",), read=self._read)

    @hookimpl(optionalhook=True)
    def aipm_view_fields(self) -> Iterable[ViewFields]:
        async def read(
            db: Reader, project_id: str, ids: frozenset[str]
        ) -> dict[str, dict[str, int]]:
            row = await db.one("select max(degrees) as n from weather")
            return {project_id: {"hottest": row["n"] if row else 0}}

        yield ViewFields(
            view="project", name="hottest", topics=("weather:{project}:{}",), read=read
        )

    async def _read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        if Weather.broken:
            raise RuntimeError("no instruments")
        rows = await db.all("select * from weather where project_id = ?", project_id)
        return [
            Record(
                id=row["place"],
                data={"degrees": row["degrees"]},
                viewers=frozenset((row["secret_of"],)) if row["secret_of"] else None,
            )
            for row in rows
            if ids is None or row["place"] in ids
        ]


async def report(
    team: Team, place: str, degrees: int, of: str | None = None, *, wake: bool = True
) -> None:
    async def unit(tx: Tx) -> None:
        await tx.run(PUT, "p", place, degrees, of)
        if wake:
            tx.wake(f"weather:p:{place}")

    await team.store.write(unit)


async def settle(team: Team) -> None:
    await team.add_project("p")
    await team.add("alice", "bob", kind="human")


async def test_a_view_of_twenty_lines_obeys_the_law(tmp_path: Path) -> None:
    async with running(Sessions, Views, Weather) as aipm:
        team, readers = Team(aipm, tmp_path), [Follower("alice"), Follower("bob")]
        await settle(team)
        await check_fold_law(aipm, readers)
        for degrees, owner in ((1, None), (2, "alice"), (3, "bob"), (3, None), (4, "alice")):
            await report(team, "oslo", degrees, owner)
            await report(team, "kyoto", 10 * degrees)
            await check_fold_law(aipm, readers)
        seen = [reader.views["weather"].get("oslo") for reader in readers]
        assert seen == [{"degrees": 4}, None]
        assert readers[0].views["project"]["p"]["hottest"] == 40
        assert [reader.resyncs for reader in readers] == [0, 0]


async def test_the_kit_finds_a_topic_that_was_forgotten(tmp_path: Path) -> None:
    async with running(Sessions, Views, Weather) as aipm:
        team = Team(aipm, tmp_path)
        await settle(team)
        await report(team, "kyoto", 30)
        await report(team, "oslo", 1)
        await check_fold_law(aipm, [alice := Follower("alice")])
        await report(team, "oslo", 2, wake=False)
        with pytest.raises(AssertionError, match="weather oslo of alice"):
            await check_fold_law(aipm, [alice])


async def test_a_view_that_cannot_be_read_is_named_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(Sessions, Views, Weather) as aipm:
        team = Team(aipm, tmp_path)
        await settle(team)
        await report(team, "oslo", 1)
        views = aipm.runtime.services.use(VIEWS)
        before = await views.snapshot("p", "alice")
        monkeypatch.setattr(Weather, "broken", True)
        with caplog.at_level(logging.ERROR):
            await report(team, "oslo", 2)
            during = await views.snapshot("p", "alice")
        assert "plugin weather: view weather of project p cannot be read" in caplog.text
        assert during.views["weather"] == before.views["weather"]
        assert during.views["project"]["p"]["hottest"] == 2


async def test_a_plugin_that_goes_takes_its_records_with_it(tmp_path: Path) -> None:
    async with running(Sessions, Views, Weather, data_dir=tmp_path / "data") as aipm:
        team = Team(aipm, tmp_path)
        await settle(team)
        await report(team, "oslo", 1)
        await check_fold_law(aipm, [alice := Follower("alice")])
    async with running(Sessions, Views, data_dir=tmp_path / "data") as aipm:
        await check_fold_law(aipm, [alice])
        assert "weather" not in alice.views
        assert alice.resyncs == 1
    async with running(Sessions, Views, Weather, data_dir=tmp_path / "data") as aipm:
        await check_fold_law(aipm, [alice])
        assert alice.views["weather"] == {"oslo": {"degrees": 1}}


class Twice(Plugin):
    """Gives what is given already."""

    view = View(name="members", topics=(), read=Weather._read)  # type: ignore[arg-type]

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        yield self.view


class Inbox(Twice):
    """Gives a view that has a hook of its own."""

    view = View(name="inbox", topics=(), read=Weather._read)  # type: ignore[arg-type]


class Unreadable(Twice):
    """Gives a topic nobody can read."""

    view = View(name="x", topics=("{project}:x",), read=Weather._read)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (Twice, "aipm_views: 'members' is given twice"),
        (Inbox, "the view 'inbox' has its own hook"),
        (Unreadable, "'{project}:x' is no pattern of topics"),
    ],
)
async def test_what_is_at_fault_is_refused_with_its_plugin(
    plugin: type[Plugin], problem: str
) -> None:
    with pytest.raises(PluginError, match=problem):
        async with running(Sessions, Views, plugin):
            pass


@pytest.mark.parametrize(
    ("pattern", "topic", "touch"),
    [
        ("tasks:{project}", "tasks:p", Touch("p", None)),
        ("tasks:{project}", "tasks:p:t", None),
        ("tasks:{project}:{id}", "tasks:p:t", Touch("p", "t")),
        ("chat:{project}:{}", "chat:p:anybody", Touch("p", None)),
        ("forgotten:x y", "forgotten:x y", Touch(None, None)),
        ("forgotten:x", "forgotten:y", None),
    ],
)
def test_a_pattern_says_what_a_topic_is_about(
    pattern: str, topic: str, touch: Touch | None
) -> None:
    assert TopicPattern(pattern).match(topic) == touch


@pytest.mark.parametrize("text", ["", ":x", "{id}", "x:{who}", "x:{project", "x:a{id}"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no pattern"):
        TopicPattern(text)
