"""Programs for the containers that kwok plays, in place of the machine's own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_TAR = """#!/bin/sh
# kwok never ends the standard input of a command, and tar reads it to its end.
for word; do
    case "$word" in -x* | x*f) exec {python} -I {program} "$@" ;; esac
done
exec /usr/bin/env PATH={path} tar "$@"
"""


def write(directory: Path) -> None:
    """Write them into a directory that is to stand first in kwok's search path."""
    script = directory / "tar"
    words = {"python": sys.executable, "program": str(Path(__file__).with_name("untar.py"))}
    quoted = {name: shlex.quote(word) for name, word in words.items()}
    script.write_text(_TAR.format(**quoted, path=shlex.quote("/bin:/usr/bin")))
    script.chmod(0o700)
