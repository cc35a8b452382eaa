"""The run folder: what is in it, written whole, read back safely.

=========================  ============================================================================
``config.yaml``            everything needed to run it again; there from the start
``checkpoint.safetensors`` where an unfinished run stands; gone when it is finished
``history.csv``            losses and accuracies of every epoch
``model.safetensors``      the best state, the pretext head included
``predictions.parquet``    every node: label, predicted class, probabilities, trust
``metrics.json``           the figures; written last
``report.html``            a page to look at, from ``simpgcn train`` and ``simpgcn report``
=========================  ============================================================================

A run on a user's own tables also holds their graph, see :mod:`simpgcn.data.own_graph`, and in ``similarity`` the search
for its look-alikes; see :mod:`simpgcn.similarity.cache`.

Nothing in it is pickled: a folder from a stranger is safe to open.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch_geometric.data import Data

from simpgcn.config import Config, parse_yaml
from simpgcn.data.own_graph import has_own_graph, read_own_graph
from simpgcn.errors import SimPGCNError
from simpgcn.files import replacing
from simpgcn.nn.registry import find_method
from simpgcn.prediction_table import prediction_table as prediction_table
from simpgcn.training import Epoch, Trainer, copy_search, load_graph

RUN_FORMAT = 1


class SavedModel(NamedTuple):
    """A model read back from a run folder, in evaluation mode, its features and classes counted.

    ``temperature`` is that of its probabilities; see :mod:`simpgcn.training.calibration`.
    """

    model: nn.Module
    num_features: int
    num_classes: int
    temperature: float


def write_config(folder: Path, config: Config) -> None:
    """Make ``folder`` a run folder."""
    with replacing(folder / "config.yaml") as draft:
        draft.write_text(f"run_format: {RUN_FORMAT}\n{config.to_yaml()}")


def read_config(folder: Path) -> Config:
    """The configuration of a run folder; an error if it is none, or one of another version."""
    path = folder / "config.yaml"
    if not path.is_file():
        raise SimPGCNError(f"{folder} is not a run folder: it has no config.yaml")
    try:
        content = parse_yaml(path.read_text(), str(path))
    except UnicodeDecodeError as error:
        raise SimPGCNError(f"{path} is not a text file: {folder} is damaged or no run folder") from error
    found = content.pop("run_format", None)
    if found is None:
        raise SimPGCNError(f"{folder} is not a run folder: its config.yaml names no run_format")
    if found != RUN_FORMAT:
        raise SimPGCNError(
            f"{folder} has run format {found}, but this version of simpgcn reads format {RUN_FORMAT}: "
            "use the version that wrote it, or train anew"
        )
    return Config().replace(content)


def run_graph(folder: Path) -> Data:
    """The graph a run was trained on: the folder's own if it holds one, else that of its configuration."""
    config = read_config(folder)
    if has_own_graph(folder):
        return read_own_graph(folder)
    if config.data.name is None:
        raise SimPGCNError(
            f"{folder} was trained from Python on data of its own and does not hold it: use SimPGCNClassifier.load"
        )
    return load_graph(config)


def keep_search(folder: Path, data: Data, config: Config) -> None:
    """Let a folder with a graph of its own hold the search for its look-alikes, so that it is never made again."""
    if has_own_graph(folder):
        copy_search(data, config, folder / "similarity")


def search_cache(folder: Path) -> bool | Path:
    """Where the search for the look-alikes of a run's graph is kept, for what takes a ``cache``."""
    kept = folder / "similarity"
    return kept if kept.is_dir() else True


def write_model(folder: Path, trainer: Trainer, temperature: float) -> None:
    """Write the best state so far, and the temperature of its probabilities."""
    meta = {
        "num_features": trainer.problem.num_features,
        "num_classes": trainer.problem.num_classes,
        "temperature": temperature,
    }
    _save_tensors(folder / "model.safetensors", trainer.best_state, meta)


def read_model(folder: Path, config: Config) -> SavedModel:
    """The trained model of a run folder."""
    tensors, meta = _load_tensors(folder / "model.safetensors")
    try:
        num_features, num_classes = meta["num_features"], meta["num_classes"]
        temperature = float(meta.get("temperature", 1.0))  # of folders without one, the probabilities as they are
        if not 0 < temperature < math.inf:
            raise ValueError("no temperature")
        model = find_method(config.model_name).build(num_features, num_classes, config.model)
        model.load_state_dict(
            {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise SimPGCNError(f"{folder}/model.safetensors does not fit the config.yaml beside it") from error
    return SavedModel(model.eval(), num_features, num_classes, temperature)


def write_checkpoint(folder: Path, trainer: Trainer, seconds: dict[str, float]) -> None:
    """Write where an unfinished training stands."""
    tensors, meta = trainer.checkpoint()
    _save_tensors(folder / "checkpoint.safetensors", tensors, {**meta, "seconds": seconds})


def read_checkpoint(folder: Path, trainer: Trainer) -> dict[str, float]:
    """Put a trainer where the folder's checkpoint stands and return the seconds spent until then."""
    if not has_checkpoint(folder):
        return {}
    tensors, meta = _load_tensors(folder / "checkpoint.safetensors")
    try:
        trainer.restore(tensors, meta)
        return dict(meta["seconds"])
    except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise SimPGCNError(
            f"{folder}/checkpoint.safetensors does not fit its configuration and data: train anew"
        ) from error


def has_checkpoint(folder: Path) -> bool:
    """Whether an unfinished run can go on from here."""
    return (folder / "checkpoint.safetensors").is_file()


def remove_checkpoint(folder: Path) -> None:
    """A finished run needs none."""
    (folder / "checkpoint.safetensors").unlink(missing_ok=True)


def write_history(folder: Path, history: list[Epoch]) -> None:
    """Write the history, a line per epoch."""
    with replacing(folder / "history.csv") as draft, draft.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Epoch._fields)
        writer.writerows(history)


def read_history(folder: Path) -> list[Epoch]:
    """The history of a run."""
    if not (folder / "history.csv").is_file():
        raise SimPGCNError(f"{folder}/history.csv is missing: the run is unfinished or damaged")
    with (folder / "history.csv").open(newline="") as file:
        rows = csv.DictReader(file)
        try:
            return [Epoch(int(row.pop("epoch")), **{name: float(value) for name, value in row.items()}) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise SimPGCNError(f"{folder}/history.csv is damaged ({error})") from error


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Write the figures."""
    with replacing(folder / "metrics.json") as draft:
        draft.write_text(json.dumps(metrics, indent=2) + "\n")


def read_metrics(folder: Path) -> dict[str, Any]:
    """The figures of a run."""
    read_config(folder)
    try:
        metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    except FileNotFoundError:
        raise SimPGCNError(
            f"{folder} is unfinished: it has no metrics.json; go on with simpgcn train --resume {folder}"
        ) from None
    except ValueError as error:
        raise SimPGCNError(f"{folder}/metrics.json is damaged: {error}") from error
    return metrics


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as CSV or Parquet, by the ending of ``path``."""
    writers = {".csv": pyarrow.csv.write_csv, ".parquet": pyarrow.parquet.write_table}
    if path.suffix not in writers:
        raise SimPGCNError(f"{path} must end in .csv or .parquet")
    if path.is_dir():
        raise SimPGCNError(f"{path} is a folder: name a file to write")
    if not path.parent.is_dir():
        raise SimPGCNError(f"the folder {path.parent} does not exist: create it or choose another place")
    with replacing(path) as draft:
        writers[path.suffix](table, str(draft))


def _save_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as draft:
        # One entry: the file's order of several varies from run to run.
        safetensors.torch.save_file(plain, draft, {"simpgcn": json.dumps(meta)})


def _load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise SimPGCNError(f"{path} is missing: the run is unfinished or damaged")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, json.loads(file.metadata()["simpgcn"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise SimPGCNError(f"{path} is damaged ({error})") from error
