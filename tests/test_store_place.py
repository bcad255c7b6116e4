"""A store that cannot be used says why in one sentence."""

import fcntl
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from aipm_devkit.program import Install
from aipm_store.data_directory import filesystem_of, prepare
from aipm_store.file_lock import locked

from aipm_core.errors import StoreError


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "list")
    database = tmp_path / ".aipm-data" / "aipm.db"
    database.write_bytes(b"this is not a database, whatever its name says" * 100)
    done = install.run("project", "list", check=2)
    assert "is damaged" in done.stderr
    assert "restore a backup" in done.stderr


def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "list")
    database = tmp_path / ".aipm-data" / "aipm.db"
    with sqlite3.connect(database) as connection:
        connection.execute(
            "insert into _sqlite_migrations (migration_set, name, applied_at) "
            "values ('sessions', '9999_future', '')"
        )
    connection.close()
    done = install.run("project", "list", check=2)
    assert "newer version of aipm" in done.stderr
    assert "9999_future" in done.stderr


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / ".aipm-data").write_text("", encoding="utf-8")
    done = Install.make(tmp_path).run("project", "list", check=2)
    assert "cannot be used" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="root ignores permissions; tmpfs needs root")
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no mount in this sandbox: {mounted.stderr}")
    try:
        done = Install.make(tmp_path, f"data_dir = '{place}'\n").run("project", "list", check=2)
        assert "full" in done.stderr
        assert done.stderr.count("\n") == 1
    finally:
        subprocess.run(["umount", place], check=True)


def test_network_file_systems_are_recognised(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("disk / ext4 rw 0 0\nhost:/x /mnt/team\\040data nfs4 rw 0 0\n", "utf-8")
    assert filesystem_of(Path("/mnt/team data/aipm"), mounts) == "nfs4"
    assert filesystem_of(Path("/home/me"), mounts) == "ext4"
    assert filesystem_of(Path("/home/me"), tmp_path / "absent") is None


def test_a_lock_that_nobody_lets_go_of_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="does not go on"), locked(path, patience=0.1):
            pass
    with locked(path), path.open("ab") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(StoreError, match="belongs to another user; set another data_dir"):
        prepare(tmp_path)


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aipm_store.data_directory.filesystem_of", lambda _: "nfs4")
    with pytest.raises(StoreError, match=r"network file system \(nfs4\).*set data_dir to a local"):
        prepare(tmp_path)
