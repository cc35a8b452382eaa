"""Progress bars on standard error; nothing at all where that is no terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn

from simpgcn.training import Epoch


class _Bars:
    def __init__(self, *columns: ProgressColumn) -> None:
        console = Console(stderr=True)
        self._bars = Progress(
            *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal, transient=True
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


class TrainingProgress(_Bars):
    """Two bars: finding look-alikes, then training with loss, validation accuracy and time left.

    >>> with TrainingProgress(epochs=2) as bars:
    ...     bars.similarity(1.0)
    ...     bars.epoch(Epoch(1, 0.9, 0.9, 0.0, 0.5, 0.9, 0.5))
    """

    def __init__(self, epochs: int) -> None:
        super().__init__(
            TextColumn("{task.description:<19}"), BarColumn(bar_width=28), TextColumn("{task.fields[shown]:<44}")
        )
        self._epochs = epochs
        self._similarity: TaskID | None = None
        self._training: TaskID | None = None

    def similarity(self, share: float) -> None:
        """Show how much of the search for look-alikes is done."""
        if self._similarity is None:
            self._similarity = self._bars.add_task("Finding look-alikes", total=1.0, shown="")
        self._bars.update(self._similarity, completed=share, shown=f"{share:.0%} of the nodes")

    def epoch(self, epoch: Epoch) -> None:
        """Show an epoch's loss and validation accuracy."""
        if self._training is None:
            self._training = self._bars.add_task("Training", total=self._epochs, shown="")
        shown = f"epoch {epoch.epoch}  loss {epoch.loss:.3f}  validation {epoch.val_accuracy:.1%}"
        self._bars.update(self._training, completed=epoch.epoch, shown=shown)


class RunsProgress(_Bars):
    """One bar over many runs, with the last result and the time left.

    >>> with RunsProgress(total=2) as bar:
    ...     bar.advance("gcn 81.3%")
    """

    def __init__(self, total: int) -> None:
        super().__init__(
            BarColumn(bar_width=28),
            TextColumn("{task.completed} of {task.total} runs"),
            TextColumn("{task.fields[shown]:<36}"),
        )
        self._task = self._bars.add_task("", total=total, shown="")

    def extend(self, more: int) -> None:
        """Expect more runs than were known of."""
        self._bars.update(self._task, total=(self._bars.tasks[self._task].total or 0) + more)

    def advance(self, shown: str) -> None:
        """Count one more run and show a word about it."""
        self._bars.update(self._task, advance=1, shown=shown)


class FlipsProgress(_Bars):
    """One bar over the flips of an attack, with the time left.

    >>> with FlipsProgress("cora") as bar:
    ...     bar.start(0, 10)
    ...     bar.flip(1)
    ...     bar.search(0.5)
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            TextColumn("Attacking {task.description}"),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[shown]}"),
        )
        self._task = self._bars.add_task(name, total=None, shown="")
        self._budget = 0

    def start(self, done: int, budget: int) -> None:
        """Show how many flips there will be, and how many an earlier attempt has found."""
        self._budget = budget
        self._bars.reset(self._task, total=budget, completed=done, shown=f"{done} of {budget} flips")

    def flip(self, done: int) -> None:
        """Show how many flips there are."""
        self._bars.update(self._task, completed=done, shown=f"{done} of {self._budget} flips")

    def search(self, share: float) -> None:
        """Show how much is done of a search that finds all flips at once."""
        self._bars.update(self._task, completed=share * self._budget, shown=f"{share:.0%} of the search")
