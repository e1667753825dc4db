"""Environment variables that hold for one kind, named as the incumbent names them.

``<PREFIX>_<KIND>_<GROUP>`` in upper case, every ``.`` as ``_``; the version is not part of the
name, and the core group leaves an underscore at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ansible_operator import gotext, objects

WORKERS = "MAX_CONCURRENT_RECONCILES"
OLD_WORKERS = "WORKER"
VERBOSITY = "ANSIBLE_VERBOSITY"


def variable(prefix: str, gvk: objects.GVK) -> str:
    """The variable for a kind: ``WORKER_MEMCACHED_CACHE_EXAMPLE_COM``."""
    return f"{prefix}_{gvk.kind}_{gvk.group}".replace(".", "_").upper()


def workers(environ: Mapping[str, str], gvk: objects.GVK) -> int | None:
    """Workers for a kind; None if the environment has nothing useful to say.

    As with the incumbent the old variable counts only where the new one is not set at all.
    """
    name = variable(WORKERS, gvk)
    return _positive(environ.get(name if name in environ else variable(OLD_WORKERS, gvk), ""))


def verbosity(environ: Mapping[str, str], gvk: objects.GVK) -> int | None:
    """Verbosity for a kind, 0 to 7; None if the environment has nothing useful to say."""
    found = gotext.integer(environ.get(variable(VERBOSITY, gvk), ""))
    return found if found is not None and 0 <= found <= 7 else None


def notices(environ: Mapping[str, str], kinds: Iterable[objects.GVK]) -> Iterator[str]:
    """What to say about the variables that are set: old names and useless values."""
    for gvk in kinds:
        new, old = variable(WORKERS, gvk), variable(OLD_WORKERS, gvk)
        if old in environ:
            yield f"{old} is deprecated; use {new}"
        for name in (new, old):
            if name in environ and _positive(environ[name]) is None:
                yield f'{name}="{environ[name]}" is ignored; it must be a whole number of 1 or more'
        name = variable(VERBOSITY, gvk)
        if name in environ and verbosity(environ, gvk) is None:
            yield f'{name}="{environ[name]}" is ignored; it must be a whole number from 0 to 7'


def _positive(text: str) -> int | None:
    found = gotext.integer(text)
    return found if found is not None and found > 0 else None
