"""A search for settings by validation accuracy alone: the test set is taken out of the data before it starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch_geometric.data import Data
from torch_geometric.utils import homophily

from simpgcn.config import Config, parse_yaml
from simpgcn.errors import SimPGCNError
from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.tuning_files import write_tuning
from simpgcn.nn.registry import find_method
from simpgcn.training import (
    Epoch,
    Trainer,
    find_device,
    how_many,
    load_graph,
    prepare,
    train_together,
    with_split,
)

if TYPE_CHECKING:
    import optuna

REPORT_EVERY = 20
# The paper's assortative graphs have more than 70% of their links within a class, the others less than 31%.
ASSORTATIVE = 0.5


class Tuned(NamedTuple):
    """The best settings found, their validation accuracy, and what mattered (shares that add up to 1)."""

    settings: dict[str, Any]
    val_accuracy: float
    trials: int
    pruned: int
    importance: dict[str, float]


def search_ranges(model: str, data: Data) -> dict[str, list[Any]]:
    """The values to try for each setting of a model; SimP-GCN's depend on whether the graph is assortative.

    >>> sorted(search_ranges("simpgcn", load_graph(Config())))[0]
    'model.hidden_channels'
    """
    text = resources.files("simpgcn.experiments").joinpath("ranges.yaml").read_text()
    ranges = parse_yaml(text, "ranges.yaml")
    known = data.train_mask | data.val_mask  # what a search may see; CiteSeer's training set alone has few links inside
    inside = known[data.edge_index[0]] & known[data.edge_index[1]]
    links = data.edge_index[:, inside]
    assortative = links.numel() == 0 or homophily(links, data.y, method="edge") > ASSORTATIVE
    special = f"{model} disassortative"
    chosen: dict[str, list[Any]] = ranges[special] if special in ranges and not assortative else ranges[model]
    return chosen


def without_test_set(data: Data) -> Data:
    """The graph with the test set's mask and labels removed: no search can read what is not there."""
    hidden = data.clone()
    hidden.y = torch.where(data.train_mask | data.val_mask, data.y, -1)
    del hidden.test_mask
    return hidden


def tune(
    dataset: str,
    model: str,
    *,
    trials: int,
    folder: Path,
    count: int = 3,
    seed: int = 0,
    changes: dict[str, Any] | None = None,
    on_trial: Callable[[int, float], None] | None = None,
) -> Tuned:
    """Search a model's ranges for the settings with the best mean validation accuracy over ``count`` runs.

    The study is kept in ``folder`` and goes on from there: trials already made count towards ``trials``.

    Args:
        dataset: A name of the catalogue.
        model: A name of a model.
        trials: How many settings to try in all.
        folder: Where the study and its results are kept.
        count: Runs of each: run i has seed i, and split i where there are several.
        seed: Of the search itself.
        changes: Settings to use instead of the shipped ones.
        on_trial: Called after every trial with its number and the best accuracy so far.
    """
    optuna = _optuna()
    find_method(model)
    configs = run_configs(dataset, model, count, changes)
    graphs = {config.data.split: without_test_set(load_graph(config)) for config in configs}
    fixed = {f"{section}.{key}" for section, values in (changes or {}).items() for key in values}
    ranges = {key: v for key, v in search_ranges(model, next(iter(graphs.values()))).items() if key not in fixed}
    if not ranges:
        raise SimPGCNError("there is nothing left to search: every setting of the search is held fixed")
    folder.mkdir(parents=True, exist_ok=True)
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "study.log"))
    study = optuna.create_study(
        study_name=_study_name(dataset, model, count, changes, ranges),
        storage=optuna.storages.JournalStorage(backend),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
        direction="maximize",
        load_if_exists=True,
    )

    # Seeded by what there is already, or a search that goes on would repeat its first trials.
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))

    def objective(trial: Any) -> float:
        chosen = {key: trial.suggest_categorical(key, values) for key, values in ranges.items()}
        tried = [with_settings(config, chosen) for config in configs]
        best: list[float] = []
        for number, trainers in enumerate(_groups(tried, graphs)):
            reported: set[int] = set()

            def watch(
                trainer: Trainer,
                epoch: Epoch,
                number: int = number,
                group: list[Trainer] = trainers,
                before: tuple[float, ...] = tuple(best),
                reported: set[int] = reported,
            ) -> bool:
                if any(one.error is not None for one in group):
                    return True
                if epoch.epoch % REPORT_EVERY or epoch.epoch in reported:
                    return False
                reported.add(epoch.epoch)
                so_far = [*before, *(one.stopping.best for one in group)]
                trial.report(sum(so_far) / len(so_far), number * 10_000 + epoch.epoch)
                return bool(trial.should_prune())

            train_together(trainers, watch)
            if not all(trainer.finished and trainer.error is None for trainer in trainers):
                raise optuna.TrialPruned
            best += [trainer.stopping.best for trainer in trainers]
        return sum(best) / len(best)

    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    missing = trials - len(study.get_trials(deepcopy=False, states=finished))
    if missing > 0:
        study.optimize(objective, n_trials=missing, callbacks=[lambda s, t: _tell(s, on_trial)])
    complete = study.get_trials(states=finished[:1])
    if not complete:
        raise SimPGCNError("no trial was completed: give more --trials")
    result = Tuned(
        study.best_params,
        study.best_value,
        len(study.get_trials(states=finished)),
        len(study.get_trials(states=finished[1:])),
        _importance(study, ranges, len(complete)),
    )
    best = {"data": {"name": dataset}, "model_name": model}
    write_tuning(result, study, best, [changes or {}, nested(result.settings)], folder)
    return result


def _groups(configs: list[Config], graphs: dict[int, Data]) -> Iterator[list[Trainer]]:
    """The trainers of a trial's runs, those together that are trained side by side."""
    first = configs[0]
    num_classes = max(int(graph.y.max()) + 1 for graph in graphs.values())  # without test sets some have fewer
    x = graphs[first.data.split].x
    size = 1
    if find_method(first.model_name).replicable:
        size = how_many(x.size(0), x.size(1), first, find_device(first.training.device))
    for start in range(0, len(configs), size):
        group = configs[start : start + size]
        problem = prepare(graphs[group[0].data.split], group[0])._replace(num_classes=num_classes)
        yield [Trainer(with_split(problem, graphs[config.data.split], config), config) for config in group]


def with_settings(config: Config, chosen: dict[str, Any]) -> Config:
    """A configuration with ``section.key`` settings replaced.

    >>> with_settings(Config(), {"training.lr": 0.5}).training.lr
    0.5
    """
    return config.replace(nested(chosen))


def nested(chosen: dict[str, Any]) -> dict[str, Any]:
    """``section.key`` settings as nested dictionaries, as YAML files have them."""
    changes: dict[str, Any] = {}
    for key, value in chosen.items():
        section, _, name = key.partition(".")
        changes.setdefault(section, {})[name] = value
    return changes


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise SimPGCNError("the search needs Optuna: pip install 'simpgcn[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _tell(study: optuna.Study, on_trial: Callable[[int, float], None] | None) -> None:
    if on_trial is not None:
        done = [trial.value for trial in study.get_trials(deepcopy=False) if trial.value is not None]
        on_trial(len(study.trials), max(done, default=0.0))


def _importance(study: optuna.Study, ranges: dict[str, list[Any]], complete: int) -> dict[str, float]:
    import optuna

    varied = [key for key, values in ranges.items() if len(values) > 1]
    values = {trial.value for trial in study.get_trials(deepcopy=False) if trial.value is not None}
    if complete < 4 or not varied or len(values) < 2:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, params=varied))


def _study_name(dataset: str, model: str, count: int, changes: Any, ranges: dict[str, list[Any]]) -> str:
    """Another question is another study: trials are comparable only if everything else is equal."""
    rest = json.dumps([changes or {}, ranges], sort_keys=True, default=str)
    return f"{dataset} {model} {count} {hashlib.sha256(rest.encode()).hexdigest()[:12]}"
