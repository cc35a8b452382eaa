"""What reproducing the paper took: the commands and their time, read from the results they left.

    python benchmarks/reproduce_time.py cpu|gpu|quick FOLDER...

FOLDERs are what ``simpgcn reproduce --out`` wrote. Writes benchmarks/results/reproduce_cpu.json, of the commands
without a GPU, reproduce_gpu.json, of those with one, or reproduce_quick.json, of those without a GPU that were given
--quick; a command that made several tables stands once.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from simpgcn.experiments.making import duration

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["cpu", "gpu", "quick"])
    parser.add_argument("folders", nargs="+", type=Path)
    wish = parser.parse_args()
    commands: list[dict] = []
    for path in sorted(path for folder in wish.folders for path in folder.glob("*.json")):
        content = json.loads(path.read_text())
        for made in (content["made"], *content.get("made_before", [])):
            kind = "gpu" if "gpu" in made["machine"] else "quick" if made["quick"] else "cpu"
            if kind == wish.kind and made not in commands:
                commands.append(made)
    if not commands:
        parser.error(f"these folders have no results of {wish.kind}: name what `simpgcn reproduce --out` wrote")
    seconds = sum(made["seconds"] for made in commands)
    RESULTS.mkdir(exist_ok=True)
    result = {"hours": seconds / 3600, "commands": commands}
    (RESULTS / f"reproduce_{wish.kind}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(commands)} commands, {sum(made['trained'] for made in commands):,} runs, {duration(seconds)}")


if __name__ == "__main__":
    main()
