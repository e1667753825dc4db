"""``tar -xf - -C directory`` that is content with the end of the archive, as a program."""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Sequence

_BLOCK = 512


class _Exactly:
    """Standard input, of which no byte more is read than was asked for."""

    def read(self, size: int) -> bytes:
        """So many bytes, fewer only at the end."""
        data = b""
        while len(data) < size and (part := os.read(0, size - len(data))):
            data += part
        return data


def main(arguments: Sequence[str]) -> int:
    """Unpack what comes on standard input into the directory after ``-C``, else into this one."""
    given = list(arguments)
    where = given[given.index("-C") + 1] if "-C" in given[:-1] else "."
    # In blocks, as the default of twenty at once would wait for more than there is.
    with tarfile.open(fileobj=_Exactly(), mode="r|", bufsize=_BLOCK) as archive:  # type: ignore[call-overload]
        archive.extractall(where, filter="tar")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
