"""``make bench`` runs everything; ``python -m benchmarks NAME …`` runs only what is named."""

import pkgutil
import sys
from importlib import import_module

import benchmarks


def main() -> None:
    """Run the named modules, or all of them."""
    names = sys.argv[1:] or sorted(
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.ispkg
    )
    for name in names:
        module = import_module(f"benchmarks.{name}")
        if hasattr(module, "run"):
            print(f"\n== {name}: {(module.__doc__ or '').partition(chr(10))[0]}", flush=True)
            module.run()


if __name__ == "__main__":
    main()
