"""A fresh virtual environment that shares our dependencies and nothing of aipm itself."""

import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

OURS = ("aipm", "_editable", "__pycache__", "pip", "setuptools", "distutils")


@dataclass(frozen=True)
class FreshVenv:
    """Distributions are installed into it as a stranger would, only without a network."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "FreshVenv":
        venv.create(root, with_pip=False)
        (site,) = root.glob("lib/python*/site-packages")
        for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
            for entry in Path(place).iterdir():
                if not entry.name.startswith(OURS):
                    (site / entry.name).symlink_to(entry)
        return cls(root)

    def install(self, *arguments: str, cwd: Path) -> None:
        """Build and install local projects with the tools that are here."""
        offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
        pip = [sys.executable, "-m", "pip", "--python", str(self.root / "bin/python"), "install"]
        self._run([*pip, *offline, *arguments], cwd)

    def run(self, *command: str, cwd: Path) -> str:
        """Run a program of the environment, or ``pip install``; return what it prints."""
        program, *arguments = command
        if (program, *arguments[:1]) == ("pip", "install"):
            self.install(*arguments[1:], cwd=cwd)
            return ""
        if program == "pytest":
            return self._run([str(self.root / "bin/python"), "-m", *command], cwd)
        return self._run([str(self.root / "bin" / program), *arguments], cwd)

    def _run(self, command: list[str], cwd: Path) -> str:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout
