"""The page on speed and the README's table, from the files that ``speed.py`` wrote.

python benchmarks/speed_page.py
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results"
GRAPHS = ("cora", "citeseer", "pubmed")
OURS, DEEPROBUST, PYG = "simpgcn", "DeepRobust", "PyG, sparse matrices"
# How many times ours DeepRobust's time is to be, at least.
GOALS = {
    "epoch": {"cora": 5, "citeseer": 8, "pubmed": 6},
    "search": {"cora": 10, "citeseer": 10, "pubmed": 10},
}
# Milliseconds that as many trainings of Cora are to take together on a GPU, at most.
TRAININGS = {1: 100, 10: 250}
TITLES = {
    "epoch": "An epoch, evaluation included",
    "search": "The feature graph and the pairs",
    "trainings": "Whole trainings of 200 epochs with evaluation, from building the model on",
}
START, END = "<!-- speed: written by benchmarks/speed_page.py -->", "<!-- end of speed -->"


def measured() -> dict[str, dict]:
    """What was measured, by file."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("speed_*.json"))}


def find(result: dict, **wanted: object) -> dict | None:
    """The line of a result that has the wanted values; of several, the one with most threads."""
    found = [line for line in result["lines"] if all(line[key] == value for key, value in wanted.items())]
    return max(found, key=lambda line: line["threads"], default=None)


def spread(values: dict[str, float], digits: int) -> str:
    median, low, high = (f"{values[key]:,.{digits}f}" for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def milliseconds(line: dict) -> str:
    took = {key: 1000 * value for key, value in line["seconds"].items()}
    return spread(took, 0 if took["median"] >= 1000 else 1 if took["median"] >= 10 else 2)


def goal(line: dict) -> str:
    if line["task"] == "trainings" and line["contestant"] == OURS:
        most = TRAININGS[line["counts"][0]]
        return f"{most} ms {'reached' if 1000 * line['seconds']['median'] <= most else 'missed'}"
    if line["contestant"] != DEEPROBUST:
        return ""
    wanted = GOALS[line["task"]][line["graph"]]
    return f"{wanted} {'reached' if line['times_ours']['median'] >= wanted else 'missed'}"


def page(results: dict[str, dict]) -> str:
    """The whole page, in Markdown."""
    text = [
        "# Speed",
        "",
        "Medians of several rounds in which contestants took turns, on a CPU each in a process of its own, with the",
        "least and the greatest in brackets. Times are compared within a table only. An epoch is the difference of two",
        "trainings, so that what is done once for a training is not a part of it. `memory floor` is what the bytes an",
        "epoch must move take at the measured bandwidth; see `src/simpgcn/bench/floor.py`.",
        "",
    ]
    for name, result in results.items():
        text += [f"## {result['device']}", "", about(result), ""]
        for task, title in TITLES.items():
            lines = [line for line in result["lines"] if line["task"] == task]
            if lines:
                text += [f"### {title}", "", *table(lines), ""]
        text += disturbed(result["lines"])
        text += ["### Growth with the graph", "", growth(result), "", *points(result), ""]
        text += [f"![Growth with the number of nodes]({name}.png)", ""]
    return "\n".join(text)


def about(result: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    again = result.get("again")
    later = f"; {', '.join(again['what'])} measured again at {again['git']}" if again else ""
    return f"{result['cores']} cores, {result['rounds']} rounds, {versions}, revision {result['git']}{later}."


def table(lines: list[dict]) -> list[str]:
    rows = ["| graph | threads | contestant | milliseconds | times simpgcn's | goal | peak memory |"]
    rows.append("| --- | --- | --- | --- | --- | --- | --- |")
    for line in lines:
        graph = line["graph"] + (f", seeds: {line['counts'][0]}" if line["task"] == "trainings" else "")
        peak = f"{line['peak_mb']:,.0f} MB" if "peak_mb" in line else ""
        ratio = "" if line["contestant"] == OURS else spread(line["times_ours"], 2)
        rows.append(
            f"| {graph} | {line['threads']} | {line['contestant']} | {milliseconds(line)} | {ratio} | {goal(line)} "
            f"| {peak} |"
        )
    return rows


def disturbed(lines: list[dict]) -> list[str]:
    """A warning of lines with a round in which the process was kept waiting by others; a search may wait for a disk."""
    waited = [
        f"{line['contestant']} on {line['graph']} ({line['busy']:.0%})"
        for line in lines
        if line["threads"] == 1 and line["task"] == "epoch" and line["busy"] < 0.9
    ]
    if not waited:
        return []
    return [f"**Measure again:** in some round these had less than 90% of their core: {', '.join(waited)}.", ""]


def growth(result: dict) -> str:
    nodes = [point["nodes"] for point in result["scaling"]["points"]]
    search, epoch, memory = (
        "little" if power is None else f"n^{power:.2f}" for power in result["scaling"]["slopes"].values()
    )
    return (
        f"Made-up graphs of {nodes[0]:,} to {nodes[-1]:,} nodes with ten links and some twenty words each: the search "
        f"grows as {search}, an epoch as {epoch}, and peak memory as {memory}."
    )


def points(result: dict) -> list[str]:
    """Every measured size: what is fixed shows as memory per node that falls, what grows faster as one that rises."""
    rows = ["| nodes | search | epoch | peak memory | per node |", "| --- | --- | --- | --- | --- |"]
    for point in result["scaling"]["points"]:
        n, search, epoch, memory = point.values()
        rows.append(
            f"| {n:,} | {search:.2f} s | {1000 * epoch:.1f} ms | {memory:,.0f} MB | {1000 * memory / n:.1f} kB |"
        )
    return rows


def readme_table(results: dict[str, dict]) -> str:
    """The README's table: ours on a CPU, and how many times as long others take."""
    if "speed_cpu" not in results:
        return "Not measured yet: `python benchmarks/speed.py` fills this in."
    result = results["speed_cpu"]
    rows = ["| dataset | epoch, one thread | PyG | DeepRobust | look-alikes and pairs | DeepRobust | peak memory |"]
    rows.append("| --- | --- | --- | --- | --- | --- | --- |")
    for graph in GRAPHS:
        epoch = {name: find(result, graph=graph, task="epoch", contestant=name) for name in (OURS, PYG, DEEPROBUST)}
        search = {name: find(result, graph=graph, task="search", contestant=name) for name in (OURS, DEEPROBUST)}
        ours = epoch[OURS], search[OURS]
        times = [faster(line) for line in (epoch[PYG], epoch[DEEPROBUST], search[DEEPROBUST])]
        rows.append(
            f"| {graph} | {1000 * ours[0]['seconds']['median']:.1f} ms | {times[0]} | {times[1]} "
            f"| {ours[1]['seconds']['median']:.2f} s | {times[2]} | {memory(search)} |"
        )
    return "\n".join(rows)


def faster(line: dict | None) -> str:
    return "not measured" if line is None else f"{line['times_ours']['median']:.1f} times"


def memory(search: dict[str, dict | None]) -> str:
    text = f"{search[OURS]['peak_mb']:,.0f} MB"
    return text if search[DEEPROBUST] is None else f"{text} ({search[DEEPROBUST]['peak_mb']:,.0f} MB)"


def write_pages() -> None:
    results = measured()
    (RESULTS / "speed.md").write_text(page(results))
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(START)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{START}\n\n{readme_table(results)}\n\n{END}{after}")


if __name__ == "__main__":
    write_pages()
