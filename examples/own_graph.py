"""A graph of one's own: from arrays to predictions with the trust behind them.

python examples/own_graph.py
"""

import tempfile

import torch
from torch_geometric.data import Data

from simpgcn import SimPGCNClassifier
from simpgcn.data import apply_split

# Three kinds of customers: what they buy says which kind they are, whom they pay does not.
generator = torch.Generator().manual_seed(0)
kind = torch.randint(3, (600,), generator=generator)
purchases = torch.poisson(0.5 + 0.7 * torch.nn.functional.one_hot(kind, 3).repeat(1, 8), generator=generator)
payments = torch.randint(600, (2, 3000), generator=generator)

data = Data(x=purchases, edge_index=payments, y=kind)
data = apply_split(data, "customers", "random", 0)  # or set train_mask, val_mask and test_mask yourself

clf = SimPGCNClassifier(hidden_channels=32, self_loop_weight=1.0, lr=0.05, epochs=200, patience=50).fit(data)
print(f"test accuracy {clf.score(data, mask=data.test_mask):.1%}, kept epoch {clf.best_epoch_}")

graph, look_alikes, own = clf.trust_[:, 0].mean(axis=0)
print(f"the first layer leans on the graph {graph:.2f}, on look-alikes {look_alikes:.2f}, on the node {own:+.2f}")

with tempfile.TemporaryDirectory() as folder:
    clf.save(folder)  # plain files, nothing pickled
    again = SimPGCNClassifier.load(folder)
    print("read back, the first five nodes are", again.predict(data)[:5], "and should be", kind[:5].numpy())
