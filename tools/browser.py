"""Finds Chromium for the tests of the page; installs Debian's where that is possible.

Called by ``make test`` before the tests: an installation takes longer than a test may, and must
not be cut off in the middle.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ("chromium", "fonts-noto-cjk")
MISSING = "no Chromium: the page was NOT tested in a browser (as root: apt-get install chromium)"
_STEPS = (
    ("dpkg", "--configure", "-a"),  # somebody may have been cut off before
    ("apt-get", "--quiet", "update"),
    (
        *("apt-get", "--quiet", "--yes", "--no-install-recommends"),
        *("-o", "DPkg::Lock::Timeout=300", "install", *PACKAGES),
    ),
)


def find() -> str | None:
    """Return where Chromium is."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def install() -> None:
    """Install what Debian has, as far as this user may."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    sys.stderr.write("installing Chromium from Debian's packages\n")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in _STEPS:
        subprocess.run(step, check=False, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603


if __name__ == "__main__":
    if find() is None:
        install()
    if find() is None:
        sys.stderr.write(f"*** {MISSING} ***\n")
