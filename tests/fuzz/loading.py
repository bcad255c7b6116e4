"""Finds targets and their committed inputs: in ``targets/`` and ``corpus/``, or beside any file."""

from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from tests.fuzz.target import Target

_TARGETS = Path(__file__).with_name("targets")
_CORPUS = Path(__file__).with_name("corpus")


def names() -> list[str]:
    return sorted(file.stem for file in _TARGETS.glob("*.py"))


def load(name: str) -> Target[Any]:
    """Import a target by its name, or from a plugin author's own file."""
    if not name.endswith(".py"):
        found: Target[Any] = import_module(f"tests.fuzz.targets.{name}").TARGET
        return found
    spec = spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    own: Target[Any] = module.TARGET
    return own


def corpus_of(name: str) -> list[Path]:
    """Return the committed inputs of a target; some of them once broke something."""
    own = Path(name)
    place = own.parent / "corpus" / own.stem if name.endswith(".py") else _CORPUS / name
    return sorted(place.glob("*"))
