"""The paper's Tables 3 and 4 beside ours, from the results of ``simpgcn compare``.

    simpgcn compare cora --models paper --runs 10 --out comparisons/cora       (and so on for all seven)
    python benchmarks/tables.py comparisons/*/comparison.json

Writes benchmarks/results/tables.json and tables.md. Where several files have the same cell, the last one counts. A
cell agrees if it is at most 1.5 points below the paper's on Cora, CiteSeer, PubMed and Actor, and at most one standard
deviation below it on the three small web graphs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
WEB = ("cornell", "texas", "wisconsin")
PAPER = {
    "cora": "lp 74.6 gcn 81.3 knn-gcn 67.4 a+knn-gcn 79.1 gat 83.1 jknet 80.3 gcnii 82.6 gcnii* 82.3 simpgcn 82.8",
    "citeseer": "lp 57.7 gcn 71.5 knn-gcn 68.7 a+knn-gcn 71.1 gat 70.8 jknet 68.5 gcnii 68.9 gcnii* 67.9 simpgcn 72.6",
    "pubmed": "lp 71.6 gcn 79.3 knn-gcn 78.9 a+knn-gcn 80.8 gat 78.5 jknet 78.3 gcnii 78.8 gcnii* 78.2 simpgcn 81.1",
    "actor": "lp 23.53 gcn 26.86 knn-gcn 33.77 a+knn-gcn 32.83 gat 28.45 jknet 27.41 geom-gcn-i 29.09 "
    "geom-gcn-p 31.63 geom-gcn-s 30.30 gcnii 33.91 gcnii* 35.18 simpgcn 36.20",
    "cornell": "lp 35.95 gcn 52.70 knn-gcn 81.35 a+knn-gcn 76.49 gat 54.32 jknet 57.84 geom-gcn-i 56.76 "
    "geom-gcn-p 60.81 geom-gcn-s 55.68 gcnii 74.86 gcnii* 76.49 simpgcn 84.05",
    "texas": "lp 32.70 gcn 52.16 knn-gcn 79.73 a+knn-gcn 79.60 gat 58.38 jknet 55.95 geom-gcn-i 57.58 "
    "geom-gcn-p 67.57 geom-gcn-s 59.73 gcnii 69.46 gcnii* 77.84 simpgcn 81.62",
    "wisconsin": "lp 29.41 gcn 45.88 knn-gcn 81.35 a+knn-gcn 80.98 gat 49.41 jknet 50.78 geom-gcn-i 58.24 "
    "geom-gcn-p 64.12 geom-gcn-s 56.67 gcnii 74.12 gcnii* 81.57 simpgcn 85.49",
}


NOTES = [
    "* lp on CiteSeer: the labels of the public split reach only 2,275 of the 3,327 nodes; on the others a method that",
    "  reads the graph alone must guess: one class for all of them gives from 51.3 to 58.3, depending on the class.",
    "* geom-gcn-p on Actor reads the neighbourhood its authors published (`--set model.neighborhood=published`), which",
    "  has the better validation accuracy there; all other cells use the one computed here.",
    "* jknet on CiteSeer, a+knn-gcn on Texas and geom-gcn-p on Actor were looked at again because they had been short",
    "  of the paper; their settings were then chosen by validation accuracy. What they had before stands below.",
    "* GCN, GAT and Geom-GCN on the disassortative graphs were not run for the paper but taken from another one. Ours",
    "  see undirected edges.",
    "* knn-gcn and a+knn-gcn see features that are not row-normalised, and jknet on the citation graphs has another",
    "  width and dropout than its paper, after a first look had been short of it. Validation accuracy chose so for the",
    "  first two on Cora and the web graphs, for jknet on Cora and CiteSeer; the other graphs follow unmeasured.",
    "* Cora, CiteSeer, PubMed and Actor were trained on one H200, the web graphs on two CPU cores.",
]


def paper_cells(dataset: str) -> dict[str, float]:
    words = PAPER[dataset].split()
    return {model: float(value) for model, value in zip(words[::2], words[1::2], strict=True)}


def agrees(dataset: str, paper: float, row: dict) -> bool:
    return row["test_mean"] >= paper - (row["test_sd"] if dataset in WEB else 1.5)


def main(paths: list[str]) -> None:
    found: dict[str, dict[str, dict]] = {}
    replaced = []
    for path in paths:
        answer = json.loads(Path(path).read_text())
        rows = found.setdefault(answer["dataset"], {})
        for row in answer["models"]:
            if row["test_sd"] is None:
                sys.exit(f"{path}: {row['model']} failed or has a single run; the tables need several")
            if row["model"] in rows and row["model"] != "simpgcn":
                replaced.append((answer["dataset"], rows[row["model"]]))
            rows[row["model"]] = row
    cells = {
        dataset: {
            model: {**found[dataset][model], "paper": paper, "agrees": agrees(dataset, paper, found[dataset][model])}
            for model, paper in paper_cells(dataset).items()
        }
        for dataset in PAPER
    }
    lines = []
    for title, datasets in (("Table 3", list(PAPER)[:3]), ("Table 4", list(PAPER)[3:])):
        lines += [f"## {title}: ours (the paper's)", "", f"| method | {' | '.join(datasets)} |"]
        lines.append("| --- " * (len(datasets) + 1) + "|")
        for model in paper_cells(datasets[-1]):
            row = [cells[dataset][model] for dataset in datasets]
            texts = [
                f"{c['test_mean']:.2f} ± {c['test_sd']:.2f} ({c['paper']}){'' if c['agrees'] else ' ✗'}" for c in row
            ]
            lines.append(f"| {model} | {' | '.join(texts)} |")
        lines.append("")
    extra = sorted({m for rows in found.values() for m in rows} - {m for rows in cells.values() for m in rows})
    lines += ["## Not in the paper", "", f"| method | {' | '.join(PAPER)} |", "| --- " * (len(PAPER) + 1) + "|"]
    for model in extra:
        row = [found[dataset].get(model) for dataset in PAPER]
        texts = ["" if c is None else f"{c['test_mean']:.2f} ± {c['test_sd']:.2f}" for c in row]
        lines.append(f"| {model} | {' | '.join(texts)} |")
    lines += ["", "## Notes", "", *NOTES]
    lines += ["", "## Measured before, with other settings", "", "| dataset | method | test accuracy |"]
    lines += ["| --- | --- | --- |"]
    lines += [f"| {d} | {row['model']} | {row['test_mean']:.2f} ± {row['test_sd']:.2f} |" for d, row in replaced]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "tables.json").write_text(json.dumps({"paper": cells, "all": found}, indent=1) + "\n")
    (RESULTS / "tables.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
