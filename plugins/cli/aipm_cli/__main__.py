"""``python -m aipm_cli``: the program, for those who start it as a process of their own."""

from aipm_cli import main

raise SystemExit(main())
