"""What reproducing the paper took: the commands and their time, read from the results they left.

    python benchmarks/reproduce_time.py FOLDER...

FOLDERs are what ``simpgcn reproduce --out`` wrote. Writes benchmarks/results/reproduce_cpu.json of the commands without
a GPU and reproduce_gpu.json of those with one; a command that made several tables stands once. A kind of which the
folders know nothing keeps its file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from simpgcn.experiments.making import duration

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    wish = parser.parse_args()
    commands: dict[str, list[dict]] = {}
    for path in sorted(path for folder in wish.folders for path in folder.glob("*.json")):
        content = json.loads(path.read_text())
        for made in (content["made"], *content.get("made_before", [])):
            kind = commands.setdefault("gpu" if "gpu" in made["machine"] else "cpu", [])
            if made not in kind:
                kind.append(made)
    if not commands:
        parser.error("no results in these folders: name what `simpgcn reproduce` wrote")
    RESULTS.mkdir(exist_ok=True)
    for kind, found in commands.items():
        seconds = sum(made["seconds"] for made in found)
        result = {"hours": seconds / 3600, "commands": found}
        (RESULTS / f"reproduce_{kind}.json").write_text(json.dumps(result, indent=1) + "\n")
        trained = sum(made["trained"] for made in found)
        print(f"{kind}: {len(found)} commands, {trained:,} runs, {duration(seconds)}")


if __name__ == "__main__":
    main()
