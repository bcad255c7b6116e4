"""A process to be killed: restores one of two backups after the other, without a pause.

usage: restore_driver.py DATA_DIR BACKUP BACKUP
"""

import sys
from itertools import cycle
from pathlib import Path

from aipm_operations.trusted_time import MIGRATIONS
from aipm_store.engines import make_store

if __name__ == "__main__":
    engine = make_store("sqlite", Path(sys.argv[1]))
    for file in cycle(sys.argv[2:]):
        kept = engine.restore_from(Path(file), {"operations": MIGRATIONS}, replace=True)
        print("restored", flush=True)
        if kept:
            kept.unlink()
