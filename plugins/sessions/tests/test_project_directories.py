"""One project, one directory: none in another's, none in the program's own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from aipm_devkit.testing import TestRuntime, running
from aipm_operations.api import OperationsHooks
from aipm_sessions.administration import Administration
from aipm_sessions.plugin import ADMINISTRATION, Sessions

from aipm_core import CallError


class Town:
    """A runtime with project ``a`` in ``a/work``."""

    def __init__(self, aipm: TestRuntime, root: Path) -> None:
        self.aipm = aipm
        self.root = root
        self.administration: Administration = aipm.runtime.services.use(ADMINISTRATION)

    async def refused(self, directory: Path | str) -> CallError:
        """Ask for a project there, which must be refused and leave nothing behind."""
        before = await anyio.to_thread.run_sync(lambda: sorted(self.root.rglob("*")))
        with pytest.raises(CallError) as refused:
            await self.administration.add_project("b", "B", Path(directory))
        assert await anyio.to_thread.run_sync(lambda: sorted(self.root.rglob("*"))) == before
        assert [project.id for project in await self.administration.projects()] == ["a"]
        return refused.value


@asynccontextmanager
async def town(root: Path) -> AsyncGenerator[Town]:
    async with running(Sessions, data_dir=root / "data") as aipm:
        made = Town(aipm, root)
        await made.administration.add_project("a", "A", root / "a" / "work")
        yield made


@pytest.mark.parametrize(
    "spelling", ["a/work", "a/work/", "a/./work", "a/x/../work", "link", "linked/work"]
)
async def test_a_directory_belongs_to_one_project(tmp_path: Path, spelling: str) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "link").symlink_to(tmp_path / "a" / "work")
        (tmp_path / "linked").symlink_to(tmp_path / "a")
        error = await here.refused(f"{tmp_path}/{spelling}")
        assert (error.code, error.status) == ("directory_taken", 409)
        assert str(error) == (
            f"{tmp_path}/a/work is the directory of project 'a'; "
            "give every project a directory of its own"
        )


@pytest.mark.parametrize("below", ["a/work/b", "a/work/b/c", "linked/b"])
async def test_no_project_is_inside_another(tmp_path: Path, below: str) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "linked").symlink_to(tmp_path / "a" / "work")
        error = await here.refused(tmp_path / below)
        assert error.code == "directory_taken"
        assert f"is inside {tmp_path}/a/work, the directory of project 'a'" in str(error)


@pytest.mark.parametrize("above", ["a", ".", ".."])
async def test_no_project_contains_another(tmp_path: Path, above: str) -> None:
    async with town(tmp_path) as here:
        error = await here.refused(tmp_path / above)
        assert error.code == "directory_taken"
        assert f"contains {tmp_path}/a/work, the directory of project 'a'" in str(error)


@pytest.mark.parametrize("own", ["data", "data/below", "link", "a/../data"])
async def test_the_data_directory_is_the_programs_own(tmp_path: Path, own: str) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "link").symlink_to(tmp_path / "data")
        error = await here.refused(tmp_path / own)
        assert (error.code, error.status) == ("invalid_directory", 400)
        assert f"{tmp_path}/data, where this program keeps its data" in str(error)


async def test_the_root_of_all_files_is_no_project(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        error = await here.refused("/")
        assert (error.code, error.status) == ("invalid_directory", 400)
        assert "a project cannot have /" in str(error)


async def test_a_project_may_contain_the_data_directory(tmp_path: Path) -> None:
    """As it does in a repository with its settings at the top."""
    async with running(Sessions, data_dir=tmp_path / ".aipm-data") as aipm:
        made = await aipm.runtime.services.use(ADMINISTRATION).add_project("a", "A", tmp_path)
        assert made.directory == tmp_path


async def test_neighbours_whose_names_begin_alike_are_no_relatives(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        for name in ("work2", "wor"):
            await here.administration.add_project(name, name, tmp_path / "a" / name)


async def test_a_directory_that_has_gone_is_still_its_projects(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "a" / "work").rmdir()
        assert (await here.refused(tmp_path / "a" / "work")).code == "directory_taken"


async def test_links_in_a_circle_are_no_directory(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "one").symlink_to(tmp_path / "two")
        (tmp_path / "two").symlink_to(tmp_path / "one")
        error = await here.refused(tmp_path / "one")
        assert (error.code, error.status) == ("invalid_directory", 400)


async def test_of_two_who_ask_at_once_one_gets_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        refused: list[str] = []

        async def ask(name: str) -> None:
            try:
                await here.administration.add_project(name, name, tmp_path / "new")
            except CallError as error:
                refused.append(error.code)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(ask, f"b{number}")
        assert refused == ["directory_taken"] * 4


async def test_the_doctor_names_what_older_versions_let_pass(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        checks = {
            owned.record.name: owned.record
            for owned in here.aipm.runtime.given(OperationsHooks.aipm_health_checks)
        }
        check = checks["project_directories"].check
        assert (await check()).status == "ok"
        old = {"b": "a/work", "c": "a/work/sub", "d": "data", "e": "elsewhere"}
        sql = "insert into projects (id, name, directory, created_at) values (?, ?, ?, '')"
        for name, place in old.items():
            await here.aipm.runtime.store.write(
                lambda tx, n=name, p=place: tx.run(sql, n, n, f"{tmp_path}/{p}")  # type: ignore[misc]
            )
        found = await check()
        assert found.status == "warn"
        assert found.message == (
            f"{tmp_path}/a/work is the directory of project 'a' (b); "
            f"{tmp_path}/a/work/sub is inside {tmp_path}/a/work, the directory of project 'a' (c); "
            f"{tmp_path}/data is or is inside {tmp_path}/data, "
            "where this program keeps its data (d)"
        )
        assert found.next
