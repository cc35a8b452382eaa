"""Makes the tables beside it: 300 customers of a bank, their transfers, and 20 newcomers. All of it is made up.

python examples/own_tables/make_tables.py
"""

import csv
import random
from datetime import date, timedelta
from pathlib import Path

HERE = Path(__file__).parent
CUSTOMERS, NEWCOMERS, TRANSFERS = 300, 20, 900
BRANCHES = ("retail", "craft", "catering", "consulting")
# What each group has more of than the others; the words are those of notes about them.
GROUPS = {
    "private": {"age": 44, "balance": 3000, "branch": (4, 1, 1, 1), "words": "salary rent family holiday savings card"},
    "business": {
        "age": 48,
        "balance": 9000,
        "branch": (1, 3, 3, 3),
        "words": "invoice supplier payroll stock tax order",
    },
    "risky": {"age": 33, "balance": 1500, "branch": (2, 1, 2, 1), "words": "cash urgent crypto complaint new device"},
}
COMMON = [
    "called",
    "about",
    "asked",
    "branch",
    "visit",
    "letter",
    "open",
    "account",
    "yesterday",
    "question",
    "form",
    "online",
]


def customer(number, draw):
    group = draw.choices(tuple(GROUPS), (6, 3, 1.5))[0]
    usual = GROUPS[group]
    words = draw.choices(usual["words"].split(), k=2) + draw.choices(COMMON, k=4)
    draw.shuffle(words)
    return {
        "id": f"C{number:04d}",
        "age": max(18, round(draw.gauss(usual["age"], 11))) if draw.random() > 0.05 else "",
        "balance": round(draw.lognormvariate(0, 0.8) * usual["balance"], 2),
        "branch": draw.choices(BRANCHES, usual["branch"])[0],
        "joined": (date(2012, 1, 1) + timedelta(days=draw.randrange(4500))).isoformat(),
        "note": " ".join(words) if draw.random() > 0.1 else "",
        "group": group,
    }


def transfer(payer, people, draw):
    """Most transfers go anywhere, as they do: links say little about the group."""
    alike = [other for other in people if other["group"] == payer["group"]]
    payee = draw.choice(alike if draw.random() < 0.3 else people)
    return {"payer": payer["id"], "payee": payee["id"], "amount": round(draw.lognormvariate(5, 0.7), 2)}


def write(name, rows):
    with (HERE / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    draw = random.Random(2021)
    people = [customer(number, draw) for number in range(CUSTOMERS + NEWCOMERS)]
    known, newcomers = people[:CUSTOMERS], people[CUSTOMERS:]
    transfers = [transfer(draw.choice(known), known, draw) for _ in range(TRANSFERS)]
    first_transfers = [transfer(person, known, draw) for person in newcomers for _ in range(3)]
    for person in known:
        person["group"] = person["group"] if draw.random() < 0.6 else ""  # nobody has looked at the others yet
    write("nodes.csv", known)
    write("edges.csv", transfers)
    write("new_nodes.csv", [{name: value for name, value in person.items() if name != "group"} for person in newcomers])
    write("new_edges.csv", first_transfers)


if __name__ == "__main__":
    main()
