"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends without an error.

    A reader sees the old file or the new one, never a part; a failure leaves no trace.

    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with replacing(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text(), [p.name for p in target.parent.iterdir()]
    ('whole', ['note.txt'])
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        # mkstemp files are private; give the result the permissions an ordinary open() would have
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o666 & ~umask)
        with draft.open("rb") as file:
            os.fsync(file.fileno())  # on disk before it takes its place, should the power fail
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
