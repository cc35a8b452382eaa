"""Everything a run needs, as frozen dataclasses that read and write YAML; an unknown key is an error."""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from simpgcn.data.catalog import settings_name
from simpgcn.data.features import Choice
from simpgcn.data.own_graph import is_file_name
from simpgcn.data.splits import SplitKind
from simpgcn.errors import SimPGCNError, unknown_name
from simpgcn.nn.registry import SimPGCNSettings, find_method
from simpgcn.similarity.neighbors import FarTies


@dataclass(frozen=True)
class DataSettings:
    """Which graph, which split of it, and how it is taken; see :func:`simpgcn.load_dataset`."""

    name: str | None = "demo"
    split: int = 0
    split_kind: SplitKind | None = None
    directed: bool = False
    normalize_features: Choice = "auto"
    absent_classes: Literal["error", "allow"] = "error"


@dataclass(frozen=True)
class TableSettings:
    """How a user's tables are read where ``data.name`` is the table of nodes; see :func:`simpgcn.load_tables`.

    ``features`` is a list of columns with commas between them.
    """

    edges: str | None = None
    label: str | None = None
    id: str | None = None
    features: str | None = None
    weights: str | None = None


@dataclass(frozen=True)
class SimilaritySettings:
    """The feature graph; see :class:`simpgcn.similarity.FeatureGraph`."""

    k: int = 20
    binarize: Choice = "auto"
    seed: int = 0
    far_ties: FarTies = "random"


@dataclass(frozen=True)
class TrainingSettings:
    """The optimiser, the stopping rule and the seed of initial values, dropout and pretext samples."""

    lr: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 500
    patience: int = 100
    seed: int = 0
    device: str = "auto"


@dataclass(frozen=True)
class Config:
    """One run. ``model`` holds the settings of the model that ``model_name`` names.

    >>> Config().replace({"training": {"lr": 0.05}}).training.lr
    0.05
    >>> Config().replace({"tables": {"labels": "topic"}})
    Traceback (most recent call last):
        ...
    simpgcn.errors.SimPGCNError: unknown setting 'tables.labels': did you mean tables.label? Known: edges, label, id, \
features, weights
    """

    data: DataSettings = field(default_factory=DataSettings)
    similarity: SimilaritySettings = field(default_factory=SimilaritySettings)
    model_name: str = "simpgcn"
    model: Any = field(default_factory=SimPGCNSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    tables: TableSettings = field(default_factory=TableSettings)

    def __post_init__(self) -> None:
        _check_ranges(self)

    @property
    def label(self) -> str:
        """Dataset and model as a part of file names."""
        name = self.data.name
        stem = Path(name).name.partition(".")[0] if name is not None and is_file_name(name) else name
        return f"{stem}-{self.model_name.replace('*', '-star')}"

    def replace(self, changes: dict[str, Any]) -> Config:
        """A copy with the values of a nested dictionary in place of its own."""
        changes = dict(changes)
        name = changes.pop("model_name", self.model_name)
        if not isinstance(name, str):
            raise SimPGCNError(f"model_name must be a text, not {name!r}")
        model = self.model if name == self.model_name else find_method(name).settings()
        return _updated(dataclasses.replace(self, model_name=name, model=model), changes, "")

    def to_yaml(self) -> str:
        """The whole configuration as YAML that :meth:`from_yaml` reads back."""
        return yaml.safe_dump(dataclasses.asdict(self), sort_keys=False)

    @classmethod
    def from_yaml(cls, text: str, source: str = "the configuration") -> Config:
        """A configuration from YAML; what it does not say is left at its default.

        >>> Config.from_yaml(Config().to_yaml()) == Config()
        True
        """
        return cls().replace(parse_yaml(text, source))


def default_config(dataset: str, model: str = "simpgcn") -> Config:
    """The shipped settings of a model on a dataset, or the general ones for a graph of one's own.

    An attacked graph has those of the graph it was made from.

    >>> default_config("cora").model.pretext_weight
    50.0
    """
    find_method(model)
    config = Config().replace({"model_name": model})
    shipped = resources.files("simpgcn").joinpath("settings", f"{settings_name(dataset)}.yaml")
    if shipped.is_file():
        settings = parse_yaml(shipped.read_text(), f"settings/{shipped.name}")
        models = settings.pop("models", {})
        config = config.replace(settings).replace(models.get(model, {}))
    return config.replace({"data": {"name": dataset}})


def chosen_config(changes: Sequence[dict[str, Any]]) -> Config:
    """The shipped settings of the dataset and the model that ``changes`` name, with the changes made in order.

    >>> chosen_config([{"data": {"name": "cora"}}, {"training": {"seed": 3}}]).model.pretext_weight
    50.0
    """
    dataset: Any = "demo"
    model: Any = "simpgcn"
    for change in changes:
        model = change.get("model_name", model)
        data = change.get("data")
        dataset = data.get("name", dataset) if isinstance(data, dict) else dataset
    if not isinstance(dataset, str) or not isinstance(model, str):
        raise SimPGCNError(f"data.name and model_name must be texts, not {dataset!r} and {model!r}")
    config = default_config(dataset, model)
    for change in changes:
        change = {key: value for key, value in change.items() if key != "model_name"}
        config = config.replace(change)
    return config.replace({"data": {"name": dataset}})


def parse_yaml(text: str, source: str) -> dict[str, Any]:
    """A YAML mapping from text; ``source`` names it in errors."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SimPGCNError(f"{source} is not valid YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SimPGCNError(f"{source} must hold settings by name, such as 'training: {{lr: 0.01}}'")
    return content


def read_config_file(path: Path) -> dict[str, Any]:
    """The settings in a YAML file."""
    try:
        content = parse_yaml(path.read_text(), str(path))
        content.pop("run_format", None)  # a run folder's own config.yaml is as good as any
        return content
    except (OSError, UnicodeDecodeError) as error:
        raise SimPGCNError(f"the configuration file {path} could not be read ({error})") from error


def parse_assignment(text: str) -> dict[str, Any]:
    """``section.key=value`` from the command line as a nested dictionary.

    >>> parse_assignment("training.lr=0.02")
    {'training': {'lr': 0.02}}
    """
    key, equals, value = text.partition("=")
    section, dot, name = key.strip().partition(".")
    if not (equals and dot and section and name):
        raise SimPGCNError(f"--set takes section.key=value, such as training.lr=0.02, not {text!r}")
    try:
        return {section: {name: yaml.safe_load(value)}}
    except yaml.YAMLError as error:
        raise SimPGCNError(f"--set {text!r}: the value is not valid YAML") from error


def _updated(settings: Any, changes: dict[str, Any], path: str) -> Any:
    hints = typing.get_type_hints(type(settings))
    new = {}
    for key, value in changes.items():
        where = f"{path}{key}"
        if key not in hints:
            raise unknown_name("setting", str(key), hints, prefix=path)
        current = getattr(settings, key)
        if dataclasses.is_dataclass(current):
            if not isinstance(value, dict):
                raise SimPGCNError(f"{where} is a group of settings, not the value {value!r}")
            new[key] = _updated(current, value, f"{where}.")
        else:
            new[key] = _converted(value, hints[key], where)
    return dataclasses.replace(settings, **new)


def _converted(value: Any, hint: Any, where: str) -> Any:
    options = (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    for option in options:
        if option is type(None) and value is None:
            return None
        if typing.get_origin(option) is Literal and value in typing.get_args(option):
            return value
        if option is float and not isinstance(value, bool):
            try:
                return float(value)  # also 5e-4, which YAML 1.1 reads as text
            except (TypeError, ValueError, OverflowError):
                continue
        if option is int and isinstance(value, numbers.Integral) and not isinstance(value, bool):
            return int(value)
        if option in (bool, str) and type(value) is option:
            return value
    choices = [c for option in options if typing.get_origin(option) is Literal for c in typing.get_args(option)]
    wanted = f"one of {', '.join(choices)}" if choices else f"of type {options[0].__name__}"
    raise SimPGCNError(f"{where} must be {wanted}, not {value!r}")


# name, lowest value, whether that value itself is allowed, highest value (excluded)
_RANGES = (
    ("training.lr", 0, False, math.inf),
    ("training.weight_decay", 0, True, math.inf),
    ("training.epochs", 1, True, None),
    ("training.patience", 1, True, None),
    ("training.seed", 0, True, 2**63),
    ("similarity.k", 1, True, None),
    ("similarity.seed", 0, True, 2**31),
    ("data.split", 0, True, 2**63),
    ("model.hidden_channels", 1, True, 2**20),
    ("model.num_layers", 1, True, 2**10),
    ("model.self_loop_weight", 0, True, math.inf),
    ("model.structure_bias", -math.inf, False, math.inf),
    ("model.dropout", 0, True, 1),
    ("model.pretext_weight", 0, True, math.inf),
    ("model.pretext_neighbors", 1, True, None),
    ("model.pretext_samples", 1, True, None),
)


def _check_ranges(config: Config) -> None:
    for path, low, included, high in _RANGES:
        section, name = path.split(".")
        value = getattr(getattr(config, section), name, None)
        if value is None:
            continue
        # written so that NaN fails
        if not ((value >= low if included else value > low) and (high is None or value < high)):
            above = f"{'at least' if included else 'above'} {low}"
            below = f" and below {high}" if high is not None and high < 2**31 else ""
            raise SimPGCNError(f"{path} must be {above}{below}, not {value}")
