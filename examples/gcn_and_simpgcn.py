"""GCN and SimP-GCN on the built-in disassortative graph, drawn: how they learn, and what SimP-GCN leans on.

python examples/gcn_and_simpgcn.py [PICTURE.png]
"""

import sys

import matplotlib.pyplot as plt

from simpgcn.config import default_config
from simpgcn.data import load_dataset
from simpgcn.training import Trainer, predict, prepare

data = load_dataset("demo")
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")

for name, label, color in (("gcn", "GCN", "#8a8a8a"), ("simpgcn", "SimP-GCN", "#d1495b")):
    # Patience is set aside, so that both curves span all epochs; the kept epoch is the same rule's.
    config = default_config("demo", name).replace({"training": {"patience": 1000}})
    trainer = Trainer(prepare(data, config), config)
    trainer.run()
    result = predict(trainer.best_model(), trainer.problem.inputs)
    hit = result.probabilities.argmax(axis=1) == data.y.numpy()
    accuracy = hit[data.test_mask.numpy()].mean()
    print(f"{label}: test accuracy {accuracy:.1%} (kept epoch {trainer.stopping.best_epoch})")
    left.plot([e.epoch for e in trainer.history], [100 * e.val_accuracy for e in trainer.history], color=color)
    left.annotate(
        f"{label}: {accuracy:.0%} on test",
        (len(trainer.history), 100 * trainer.history[-1].val_accuracy),
        xytext=(-4, -18),
        textcoords="offset points",
        ha="right",
        color=color,
        weight="bold",
    )
left.set(
    xlabel="epoch",
    ylabel="validation accuracy (%)",
    ylim=(0, 100),
    title="Links that mislead: only 15% stay in a topic",
)

score = result.trust[:, 0, 0]
right.hist(score, bins=40, range=(0, 1), color="#d1495b")
right.set(
    xlabel="score s of layer 1:  0 = look-alikes only,  1 = given graph only",
    ylabel="nodes",
    title="Whom each node trusts",
)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
path = sys.argv[1] if len(sys.argv) > 1 else "gcn_and_simpgcn.png"
figure.savefig(path, dpi=130)
print(f"drawn to {path}")
