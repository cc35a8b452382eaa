// The nodes as the arrays have them, asked one at a time.

class Nodes {
  constructor(about, arrays) {
    this.about = about;
    this.arrays = arrays;
    this.size = about.nodes;
    this.starts = { neighbour: sums(arrays.neighbour_kept), alike: sums(arrays.alike_kept) };
    this.numbers = arrays.ids && new Map(arrays.ids.map((id, node) => [id, node]));
  }

  id(node) {
    return this.arrays.ids ? this.arrays.ids[node] : String(node);
  }

  // The number of the node called so; undefined if there is none.
  find(id) {
    if (this.numbers) return this.numbers.get(id);
    return /^\d+$/.test(id) && Number(id) < this.size ? Number(id) : undefined;
  }

  label(node) {
    return this.arrays.label[node];
  }

  predicted(node, run = 0) {
    return this.arrays.predicted[run * this.size + node];
  }

  // How sure the prediction is, 0 to 1.
  sure(node, run = 0) {
    return this.arrays.sure[run * this.size + node] / 1000;
  }

  split(node) {
    return this.about.splits[this.arrays.split[node]];
  }

  className(c) {
    return this.about.classes[c];
  }

  isWrong(node) {
    return this.label(node) >= 0 && this.label(node) !== this.predicted(node);
  }

  runsDiffer(node) {
    return this.about.runs.some((_, run) => this.predicted(node, run) !== this.predicted(node));
  }

  // The class a neighbour counts for: its label, or what it was predicted.
  takenFor(node) {
    return this.label(node) >= 0 ? this.label(node) : this.predicted(node);
  }

  probabilities(node) {
    const count = this.about.classes.length;
    return Array.from(this.arrays.probabilities.subarray(node * count, (node + 1) * count), (p) => p / 1000);
  }

  // Weights on the graph, on look-alikes and on itself; null for models without them.
  leans(node) {
    return this.arrays.leans ? Array.from(this.arrays.leans.subarray(3 * node, 3 * node + 3), (w) => w / 1000) : null;
  }

  // The three scores of every layer.
  scores(node) {
    const { scores } = this.arrays;
    if (!scores) return [];
    const width = scores.length / this.size;
    const own = scores.subarray(node * width, (node + 1) * width);
    return Array.from({ length: width / 3 }, (_, layer) => Array.from(own.subarray(3 * layer, 3 * layer + 3)));
  }

  // Links of a kind, "neighbour" or "alike": the strongest, how many there are, and what classes they lead to.
  links(node, kind) {
    const of = (name) => this.arrays[`${kind}_${name}`];
    const start = this.starts[kind][node];
    const places = Array.from({ length: of("kept")[node] }, (_, place) => start + place);
    return {
      others: places.map((place) => of("others")[place]),
      similarity: kind === "alike" ? places.map((place) => of("similarity")[place] / 1000) : null,
      weight: of("weight") ? places.map((place) => of("weight")[place]) : null,
      total: of("total")[node],
      top: of("top")[node],
      topCount: of("top_count")[node],
      agree: of("agree")[node],
    };
  }

  // All nodes in an order: by doubt, mistakes first (the surest before), or by id.
  ordered(by) {
    if (by === "id") return (this.arrays.by_id ??= Uint32Array.from({ length: this.size }, (_, node) => node));
    if (by === "doubt") return this.arrays.by_doubt;
    if (!this.byWrong) {
      const wrong = this.arrays.by_doubt.filter((node) => this.isWrong(node)).reverse();
      const right = this.arrays.by_doubt.filter((node) => !this.isWrong(node));
      this.byWrong = new Uint32Array(this.size);
      this.byWrong.set(wrong);
      this.byWrong.set(right, wrong.length);
    }
    return this.byWrong;
  }

  // The ids in lower case, for searching.
  get lowered() {
    this.loweredIds ??= Array.from({ length: this.size }, (_, node) => this.id(node).toLowerCase());
    return this.loweredIds;
  }
}

function sums(counts) {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((count, place) => (starts[place + 1] = starts[place] + count));
  return starts;
}
