"""Whatever bytes a table is made of, it is read or refused in one sentence."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simpgcn.data.tables import load_tables
from simpgcn.errors import SimPGCNError

NODES = "id,age,when,note,kind\n" + "".join(
    f"{i},{i * 3 % 11},2020-01-{i + 1:02d},a b{i % 4} c{i % 3} d,{'ab'[i % 2]}\n" for i in range(20)
)
EDGES = "from,to,w\n" + "".join(f"{i},{(i * 7 + 3) % 20},{i % 3 + 0.5}\n" for i in range(20))
TWO_LINES = f'"{NODES[:22]}"{NODES[22:]}'.encode()  # the name of the first column
PIECES = [b",", b";", b"\t", b"\n", b"\r\n", b'"', b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", "é".encode()]
PIECES += [b"NA", b"inf", b"1e999", b"-0", b"007", b"id", b"-1", b"  ", b"99999999999999999999", b"2020-02-31"]


def damaged(text):
    """A table with pieces put in, or bytes taken out, at some places."""
    change = st.tuples(st.integers(0, len(text)), st.integers(0, 12), st.sampled_from(PIECES) | st.binary(max_size=6))

    def apply(changes):
        content = text.encode()
        for place, length, piece in changes:
            content = content[:place] + piece + content[place + length :]
        return content

    return st.lists(change, max_size=4).map(apply) | st.binary(max_size=60)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(nodes=damaged(NODES), edges=damaged(EDGES), zipped=st.booleans(), cut=st.integers(0, 40), weights=st.booleans())
@example(nodes=TWO_LINES, edges=EDGES.encode(), zipped=False, cut=0, weights=False)
def test_any_bytes_are_read_or_refused_in_one_sentence(nodes, edges, zipped, cut, weights, tmp_path):
    if zipped:
        nodes = gzip.compress(nodes)[: -cut or None]
    (tmp_path / "nodes.csv").write_bytes(nodes)
    (tmp_path / "edges.csv").write_bytes(edges)
    try:
        data = load_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", "kind", weights="w" if weights else None)
    except SimPGCNError as error:
        said, data = str(error), None
    if data is None:
        assert "\n" not in said
    else:
        assert data.x.to_dense().isfinite().all()
        assert data.num_nodes == len(data.node_ids) == data.x.size(0)
        assert data.edge_index.numel() == 0 or int(data.edge_index.max()) < data.num_nodes


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + bytes(40) + b"PAR1", b"id,age\n1,2\n"])
def test_damaged_parquet(content, tmp_path):
    (tmp_path / "nodes.parquet").write_bytes(content)
    with pytest.raises(SimPGCNError, match="is damaged or no Parquet file"):
        load_tables(tmp_path / "nodes.parquet", None, "kind")
