"""The report of a large graph: how long it takes to make, how big it is, and how long it ever keeps a browser busy.

    python benchmarks/report_size.py [--nodes 100000] [--out FILE]

The graph, its labels and its predictions are made up: nothing is trained. Needs Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.report.chart_library import chart_library
from simpgcn.report.facts import run_facts
from simpgcn.report.page import page
from simpgcn.report.run_record import RunRecord
from simpgcn.report.surroundings import surrounding
from simpgcn.training import Epoch

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
# Set before anything of the page runs: the length of every task of more than 50 ms.
WATCH = """
window.longTasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((task) => longTasks.push(Math.round(task.duration))))
  .observe({type: "longtask", buffered: true});
"""


def made_up_run(nodes: int, classes: int = 10, degree: int = 10, k: int = 20) -> RunRecord:
    """A run on a random graph with random predictions."""
    random = np.random.default_rng(0)
    y = random.integers(classes, size=nodes)
    logits = random.normal(size=(nodes, classes)) + 4 * (np.arange(classes) == y[:, None])
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    split = random.integers(3, size=nodes)
    near = random.integers(nodes, size=(nodes, k))
    data = Data(
        x=torch.zeros(nodes, 1),
        y=torch.from_numpy(y),
        edge_index=torch.from_numpy(random.integers(nodes, size=(2, nodes * degree))),
        feature_edge_index=torch.stack([torch.arange(nodes).repeat_interleave(k), torch.from_numpy(near.ravel())]),
        feature_edge_weight=torch.rand(nodes * k),
        node_ids=pa.array([f"customer {i:06}" for i in range(nodes)]),
        **{f"{name}_mask": torch.from_numpy(split == i) for i, name in enumerate(("train", "val", "test"))},
    )
    scores = random.random((nodes, 2, 3)).astype(np.float32)
    metrics = {
        "dataset": "made-up",
        "model": "simpgcn",
        "val_accuracy": 0.9,
        "best_epoch": 90,
        "epochs": 100,
        "seconds": {"total": 0.0, "training": 0.0},
        "versions": {},
        "git": None,
    }
    history = [Epoch(e, 1 / e, 1 / e, 0.1, 0.9, 1 / e, 0.9) for e in range(1, 101)]
    leans = scores.mean(axis=1) / scores.mean(axis=1).sum(axis=1, keepdims=True)
    predicted = probabilities.argmax(axis=1)
    return RunRecord(
        "made-up",
        Config(),
        metrics,
        history,
        data,
        predicted,
        probabilities,
        leans,
        scores,
        surrounding(data.edge_index, None, nodes),
        surrounding(data.feature_edge_index, data.feature_edge_weight, nodes),
    )


def measure(path: Path) -> dict[str, object]:
    """Open the page, search, sort and walk in a headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        try:
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            start = time.perf_counter()
            driver.get(path.resolve().as_uri())
            seconds = {}
            for mark in ("nodes", "charts"):
                WebDriverWait(driver, 60, 0.01).until(lambda d, m=mark: d.execute_script(_DATASET, m))
                seconds[mark] = round(time.perf_counter() - start, 2)
            paint = driver.execute_script("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
            opening = driver.execute_script("return longTasks.splice(0)")
            driver.find_element(By.ID, "search").send_keys("customer 0999")
            driver.execute_script("document.getElementById('sort').value = 'wrong'")
            driver.execute_script("document.getElementById('sort').dispatchEvent(new Event('change'))")
            driver.execute_script("document.getElementById('list').scrollTop = 1e6")
            driver.find_element(By.CSS_SELECTOR, ".company a").click()
            time.sleep(0.5)
            using = driver.execute_script("return longTasks")
        finally:
            driver.quit()
    return {
        "first_paint_ms": round(paint),
        "ready_seconds": seconds,
        "long_tasks_ms": {"opening": opening, "searching, sorting, walking": using},
    }


_DATASET = "return document.documentElement.dataset[arguments[0]]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("large_report.html"))
    asked = parser.parse_args()
    run, library = made_up_run(asked.nodes), chart_library()
    start = time.perf_counter()
    asked.out.write_text(page([run], [run_facts(run)], [], library), encoding="utf-8")
    made = time.perf_counter() - start
    answer = {"nodes": asked.nodes, "seconds_to_make": round(made, 2), "megabytes": asked.out.stat().st_size / 1e6}
    print(json.dumps({**answer, **measure(asked.out)}, indent=2))


if __name__ == "__main__":
    main()
