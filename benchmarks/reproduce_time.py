"""What reproducing the paper took without a GPU: the commands and their time, read from the results they left.

    python benchmarks/reproduce_time.py FOLDER...

FOLDERs are what ``simpgcn reproduce --out`` wrote. Writes benchmarks/results/reproduce_cpu.json, in which a command
that made several tables stands once.
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
    commands: list[dict] = []
    for path in sorted(path for folder in wish.folders for path in folder.glob("*.json")):
        content = json.loads(path.read_text())
        for made in (content["made"], *content.get("made_before", [])):
            if "gpu" not in made["machine"] and made not in commands:
                commands.append(made)
    if not commands:
        parser.error("no results that were made without a GPU in these folders: name what `simpgcn reproduce` wrote")
    seconds = sum(made["seconds"] for made in commands)
    RESULTS.mkdir(exist_ok=True)
    result = {"hours": seconds / 3600, "commands": commands}
    (RESULTS / "reproduce_cpu.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(commands)} commands, {sum(made['trained'] for made in commands):,} runs, {duration(seconds)}")


if __name__ == "__main__":
    main()
