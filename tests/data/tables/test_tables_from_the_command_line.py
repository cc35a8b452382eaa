"""What a person with tables meets: one sentence for what is wrong, or a stated repair, and never a traceback."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

from simpgcn.data.own_graph import read_own_graph

QUICK = ("--set", "training.epochs=3", "--set", "model.hidden_channels=8", "--set", "similarity.k=5", "--device", "cpu")
NODES = "id,age,city,kind\n" + "".join(
    f"{i},{20 + i % 7},{'Rome' if i % 3 else 'Oslo'},{'' if i % 9 == 8 else 'ab'[i % 2]}\n" for i in range(40)
)
EDGES = "from,to\n" + "".join(f"{i},{(i * 7 + 2) % 40}\n" for i in range(40))


@pytest.fixture
def train(simpgcn):
    """Train on the texts of two tables."""

    def run(*options, nodes=NODES, edges=EDGES, label="kind"):
        for name, content in (("nodes.csv", nodes), ("edges.csv", edges)):
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        tables = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--label", label)
        return simpgcn("train", *tables, *QUICK, *options)

    return run


def test_tables_in_a_run_folder_out(train):
    code, out, err = train("--json", "--out", "run")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["understood"]["nodes"] == {"table": "nodes.csv", "rows": 40, "used": 40}
    assert answer["understood"]["labels"] == {"labelled": 36, "unlabelled": 4, "classes": {"a": 18, "b": 18}}
    assert {"graph.npz", "nodes.parquet", "preparation.json"} < {path.name for path in Path("run").iterdir()}
    assert pyarrow.parquet.read_table("run/nodes.parquet")["id"].to_pylist() == list(range(40))


def test_what_was_understood_is_printed_first(train):
    code, out, _ = train("--out", "run")
    assert code == 0
    assert out.index("What was understood") < out.index("test accuracy")
    words = " ".join(out.split())
    assert "age (1)" in words
    assert "city (2)" in words
    assert "4 nodes without a label" in words


def assert_one_sentence(answer, *parts):
    code, out, err = answer
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("simpgcn: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    for part in parts:
        assert part in err
    assert not Path("runs").exists()


def assert_repaired(answer, *parts):
    """It trains, and says what it put right or noticed."""
    code, out, err = answer
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    for part in parts:
        assert part in words


def weighted(weight):
    first, *others = EDGES.splitlines()
    return "\n".join([f"{first},w", *(f"{line},{weight}" for line in others)])


def labelled(label, count=9):
    """A small table whose labels are made of the row's number."""
    return "id,age,kind\n" + "".join(f"{i},{i % 5},{label(i)}\n" for i in range(count))


def header(text):
    return text.partition("\n")[0]


def rows(text):
    return text.partition("\n")[2]


@pytest.mark.parametrize(
    ("changes", "options", "parts"),
    [
        ({"label": "kin"}, (), ["unknown column of nodes.csv 'kin': did you mean kind?", "id, age, city, kind"]),
        ({}, ("--id", "nr"), ["unknown column of nodes.csv 'nr'"]),
        ({}, ("--features", "age,town"), ["unknown column of nodes.csv 'town'"]),
        ({}, ("--features", "age,kind"), ["'kind' is the id or the label"]),
        ({}, ("--weights", "amount"), ["unknown column of edges.csv 'amount'"]),
        ({"label": "id"}, (), ["'id' cannot be both the label and the id"]),
        ({"nodes": ""}, (), ["nodes.csv is empty"]),
        ({"nodes": "\n\n"}, (), ["nodes.csv is empty"]),
        ({"edges": ""}, (), ["edges.csv is empty"]),
        ({"nodes": header(NODES)}, (), ["nodes.csv has a header but no rows"]),
        ({"edges": header(EDGES) + "\n"}, (), ["edges.csv has a header but no rows"]),
        ({"edges": "from\n1\n"}, (), ["edges.csv has a single column 'from'"]),
        ({"nodes": NODES.replace("age", "city", 1)}, (), ["nodes.csv has more than one column called 'city'"]),
        (
            {"nodes": NODES + "40,50\n"},
            (),
            ["nodes.csv: line 42 has 2 values, but the header has 4 columns", "'40,50'"],
        ),
        ({"nodes": NODES + "7,99,Rome,a\n"}, (), ["nodes.csv has the id 7 in rows 8 and 41, which differ"]),
        (
            {"edges": "from,to\nx1,x2\nx3,x4\n"},
            (),
            ["no id in edges.csv is the id of a node", "'x1', 'x3'", "0, 1, 2", "--id"],
        ),
        ({"nodes": labelled(lambda i: "")}, (), ["every label in 'kind' is missing"]),
        ({"nodes": labelled(lambda i: "a")}, (), ["every label in 'kind' is 'a'"]),
        (
            {"nodes": labelled(lambda i: "ab "[i], 3), "edges": "a,b\n1,2\n"},
            (),
            ["there are too few labels in 'kind'", "2 nodes have one"],
        ),
        ({"nodes": "id,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9))}, (), ["no column to learn from"]),
        (
            {"nodes": labelled(lambda i: i * 1.37, 30)},
            (),
            ["'kind' has 30 different values in 30 labelled rows: it looks like an amount"],
        ),
        ({"nodes": b"PK\x03\x04" + bytes(50)}, (), ["nodes.csv is a spreadsheet or an archive"]),
        ({"nodes": NODES.encode("utf-16-le")}, (), ["nodes.csv holds zero bytes"]),
        ({"nodes": b"\x1f\x8b" + b"junk" * 20}, (), ["nodes.csv is a damaged gzip file"]),
        ({"edges": weighted(-1)}, ("--weights", "w"), ["edges.csv: the weight in row 1 is -1, but weights must be 0"]),
        (
            {"edges": weighted("big")},
            ("--weights", "w"),
            ["the column of weights 'w' holds values that are no number, first 'big' in row 1"],
        ),
    ],
)
def test_what_cannot_be_used_ends_in_one_sentence(train, changes, options, parts):
    assert_one_sentence(train(*options, **changes), *parts)


def test_no_label_and_no_file(train):
    assert_one_sentence(train("--nodes", "none.csv"), "there is no file none.csv")
    assert_one_sentence(train("--nodes", "nodes.xlsx"), "nodes.xlsx is no table: its name must end in .csv")
    assert_one_sentence(train("--edges", "none.csv"), "there is no file none.csv")
    assert_one_sentence(train("--edges", "edges.txt"), "edges.txt is no table: its name must end in .csv")
    assert_one_sentence(train("cora"), "train on cora or on --nodes nodes.csv")


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"edges": EDGES + "1,999\n,3\n5,5\n0,2\n2,0\n"},
            [
                "edges.csv: edges with an id that no node has are dropped (1, first 999 in row 41)",
                "missing id 1",
                "to itself 3",
            ],
        ),
        ({"nodes": NODES + NODES.splitlines()[8] + "\n"}, ["1 row given twice, word for word"]),
        ({"nodes": NODES + ",30,Rome,a\n"}, ["nodes.csv: 1 row without an id left out"]),
        (
            {"nodes": NODES.replace("\n3,23,", "\n3,many,")},
            ["the column 'age' holds 1 value that is no number, first 'many' in row 4: taken as missing"],
        ),
        ({"nodes": NODES.replace("Rome", "Köln").encode("cp1252")}, ["nodes.csv is not all UTF-8: line 3 and others"]),
        ({"nodes": NODES.replace("\n3,23,Oslo", "\n3,23,Köln").encode("utf-16")}, ["city (3)"]),
        ({"nodes": b"\xef\xbb\xbf" + NODES.encode()}, ["id in 'id'"]),
        ({"nodes": NODES.replace(",", ";"), "edges": EDGES.replace(",", "\t")}, ["city (2)"]),
        ({"nodes": NODES + "40,30,Rome,c\n"}, ["a single node is labelled 'c': it trains"]),
        ({"edges": rows(EDGES)}, ["edges.csv has no header line: its first line is taken as an edge"]),
        (
            {"edges": "from,to\n" + "".join(f"{i:03d},{(i * 7 + 2) % 40}.0\n" for i in range(40))},
            ["edges.csv: 80 ends written like '000' are taken as '0'"],
        ),
        ({"nodes": NODES.replace(",age", ",").replace("city", "")}, ["the column without a name is called 'column 2'"]),
        (
            {"nodes": "id,age,told,kind\n" + "".join(f"{i},{i % 7},{i % 2},{'ab'[i % 2]}\n" for i in range(40))},
            ["the column 'told' alone tells the label of 100% of the nodes"],
        ),
        (
            {"nodes": NODES.replace(",\n", ",NA\n")},
            ["4 labels such as 'NA' are taken as missing", "4 nodes without a label"],
        ),
        ({"nodes": NODES.replace("\n", ",x\n")}, ["x: every value is the same"]),
    ],
)
def test_what_can_be_put_right_is_and_is_said(train, changes, parts):
    assert_repaired(train("--out", "run"), "What was understood")
    shutil.rmtree("run")
    assert_repaired(train("--out", "run", **changes), *parts)


def test_several_encodings_in_one_file_are_read_line_by_line(train):
    lines = NODES.replace("Rome", "Köln").splitlines(keepends=True)
    mixed = b"".join(line.encode("utf-8" if place % 2 else "cp1252") for place, line in enumerate(lines))
    code, out, _ = train("--json", "--out", "run", nodes=mixed)
    assert code == 0
    assert json.loads(out)["understood"]["columns"][1] == {
        "name": "city",
        "kind": "category",
        "features": 2,
        "missing": 0,
    }
    assert "Köln" in json.loads(Path("run/preparation.json").read_text())["preparation"]["columns"][1]["values"]


def test_gzip_and_tsv(train):
    for name, content in (("n.tsv.gz", NODES), ("e.csv.gz", EDGES)):
        Path(name).write_bytes(gzip.compress(content.replace(",", "\t").encode()))
    code, out, _ = train("--nodes", "n.tsv.gz", "--edges", "e.csv.gz", "--json")
    assert code == 0
    assert json.loads(out)["understood"]["edges"]["listed"] == 40


def test_a_folder_of_the_open_graph_benchmark(simpgcn):
    Path("ogb/raw").mkdir(parents=True)
    texts = {"edge": "0,1\n5,6\n", "node-feat": "0.5,1\n-0.1,2\n" * 20, "node-label": "0\n1\n" * 20}
    for name, text in texts.items():
        Path(f"ogb/raw/{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    code, out, _ = simpgcn("train", "ogb", *QUICK, "--json", "--out", "run")
    assert code == 0
    assert json.loads(out)["understood"]["nodes"]["used"] == 40
    assert read_own_graph(Path("run")).num_nodes == 40


def test_the_graph_of_a_run_stands_for_a_dataset(simpgcn, train):
    assert train("--out", "run")[0] == 0
    code, out, _ = simpgcn("train", "run/graph.npz", *QUICK, "--json", "--out", "again")
    assert code == 0
    assert json.loads(out)["test_accuracy"] == json.loads(Path("run/metrics.json").read_text())["test_accuracy"]
    assert_one_sentence(simpgcn("compare", "nodes.csv"), "nodes.csv is a table: train on it first, then give graph.npz")
