"""The figures of a report in sentences."""

from __future__ import annotations

from typing import Any


def percent(value: float | None, digits: int = 1) -> str:
    """A share in percent.

    >>> percent(0.9025), percent(None)
    ('90.2%', 'unknown')
    """
    return "unknown" if value is None else f"{value:.{digits}%}"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "node"), counted(1200, "class")
    ('1 node', '1,200 classes')
    """
    plural = thing + ("es" if thing.endswith("s") else "s")
    return f"{number:,} {thing if number == 1 else plural}"


def in_short(facts: dict[str, Any]) -> list[str]:
    """What a reader in a hurry should know."""
    return [line for line in (_accuracy(facts), _classes(facts), _sure(facts), _trust(facts), _graph(facts)) if line]


def _accuracy(facts: dict[str, Any]) -> str:
    test = facts["test"]
    if not test["count"]:
        return "The run has no labelled test nodes, so how good it is on nodes it has not seen is unknown."
    return (
        f"Of {counted(test['count'], 'test node')} it classified {test['right']:,} correctly: "
        f"{percent(test['accuracy'])} (95% interval {percent(test['low'])} to {percent(test['high'])}). "
        f"Always naming the commonest class would reach {percent(facts['commonest']['accuracy'])}."
    )


def _classes(facts: dict[str, Any]) -> str | None:
    rows = sorted(facts["by_class"], key=lambda row: row["accuracy"])
    if not rows or rows[0]["accuracy"] == rows[-1]["accuracy"]:
        return None
    worst, best = rows[0], rows[-1]
    return (
        f"It recognises {_quoted(best['class'])} best ({percent(best['accuracy'])} of {best['count']:,}) and "
        f"{_quoted(worst['class'])} worst ({percent(worst['accuracy'])} of {worst['count']:,})."
    )


def _quoted(name: str) -> str:
    return f"“\u2068{name}\u2069”"  # isolated: a right-to-left name does not turn the sentence around


def _sure(facts: dict[str, Any]) -> str | None:
    found = facts["calibration"]
    if found["error_after"] is None:
        return None
    said = f"How sure it is differs from how often it is right by {percent(found['error_after'])} on average"
    if found["error_before"] is not None:
        said += f", after calibration; before it, by {percent(found['error_before'])}"
    return said + "."


def _trust(facts: dict[str, Any]) -> str | None:
    if facts["trust"] is None:
        return None
    mean = facts["trust"]["mean"]
    most = max(mean, key=mean.get)
    others = " and ".join(f"{source} {weight:.2f}" for source, weight in mean.items() if source != most)
    return f"Its nodes lean most on {'themselves' if most == 'itself' else most} ({mean[most]:.2f}; {others})."


def _graph(facts: dict[str, Any]) -> str | None:
    found = facts["similarity"]
    links, alike, chance = found["homophily"], found["look_alike_homophily"], found["chance_homophily"]
    if links is None or alike is None:
        return None
    return (
        f"{percent(links, 0)} of the links join nodes of one class, and {percent(alike, 0)} of the look-alikes are of "
        f"one class; by chance it would be {percent(chance, 0)}. "
        f"{percent(found['overlap'])} of the look-alikes are also neighbours in the graph."
    )
