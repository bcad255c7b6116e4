"""For the program around the kernel: the runtime, and what it is made from."""

from aipm_core.background_work import kept_going, owner
from aipm_core.hookspecs import kinds
from aipm_core.loading.collecting import ask
from aipm_core.loading.hook_owners import CORE, Hook, known_hooks
from aipm_core.loading.installation import Installation
from aipm_core.loading.validation import hooks_of, misuse_of
from aipm_core.pipeline.registered import Registered
from aipm_core.runtime import Runtime
from aipm_core.settings import BaseSettings

# fmt: off
__all__ = [
    "CORE", "BaseSettings", "Hook", "Installation", "Registered", "Runtime", "ask", "hooks_of",
    "kept_going", "kinds", "known_hooks", "misuse_of", "owner",
]
# fmt: on
