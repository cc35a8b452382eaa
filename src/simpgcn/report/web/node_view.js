// One node: what it was predicted and why that could be, its neighbours and its look-alikes.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; text is only ever set as text.
const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

const draw = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// A user's text, isolated so that right-to-left names do not turn around what stands beside them.
const named = (text) => make("bdi", {}, String(text));

const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)}%`;

const dot = (c) => make("span", { class: "dot", style: `background: var(--c${c % 8})`, "aria-hidden": "true" });

const linkTo = (nodes, node) => `#node=${encodeURIComponent(nodes.id(node))}`;

const LEANS = ["the graph", "look-alikes", "itself"];

function nodeView(nodes, node) {
  const parts = [heading(nodes, node), why(nodes, node)];
  if (nodes.about.runs.length > 1) parts.push(runsTable(nodes, node));
  parts.push(make("div", { class: "measures" }, probabilityBars(nodes, node), weights(nodes, node)));
  parts.push(bowTie(nodes, node));
  parts.push(
    make("div", { class: "company" }, company(nodes, node, "neighbour"), company(nodes, node, "alike")),
  );
  return parts;
}

function heading(nodes, node) {
  const label = nodes.label(node);
  const wrong = nodes.isWrong(node);
  const verdict = label < 0 ? null : make("span", { class: wrong ? "tag wrong" : "tag right" }, wrong ? "✗ wrong" : "✓ right");
  return make(
    "header",
    { class: "node-head" },
    make("h3", {}, named(nodes.id(node))),
    make("span", { class: "tag" }, nodes.split(node)),
    verdict,
  );
}

// The sentence on what could have led to the prediction.
function why(nodes, node) {
  const predicted = nodes.predicted(node);
  const label = nodes.label(node);
  const className = (c) => make("strong", {}, named(nodes.className(c)));
  const text = ["Predicted ", className(predicted), ` (${percent(nodes.sure(node))} sure)`];
  if (label < 0) text.push("; it has no label. ");
  else if (label === predicted) text.push(", as it is labelled. ");
  else text.push(", but labelled ", className(label), ". ");
  if (nodes.split(node) === "train") text.push("Training saw its label. ");
  const around = { neighbour: nodes.links(node, "neighbour"), alike: nodes.links(node, "alike") };
  text.push(...counted(around.neighbour, "neighbour in the graph is", "neighbours in the graph are", "It has no neighbours in the graph"), "; ");
  text.push(...counted(around.alike, "look-alike is", "look-alikes are", "it has no look-alikes"), ". ");
  text.push(...leaning());
  return make("p", { class: "why" }, ...text);

  function counted(links, one, many, none) {
    if (!links.total) return [none];
    const said = [`${links.topCount} of ${links.total} ${links.total === 1 ? one : many} `, className(links.top)];
    if (links.top !== predicted) said.push(`, ${links.agree || "none"} `, className(predicted));
    return said;
  }

  function leaning() {
    const leans = nodes.leans(node);
    if (!leans) return [];
    const most = leans.indexOf(Math.max(...leans));
    const said = [`It leans most on ${LEANS[most]} (${leans[most].toFixed(2)})`];
    const links = [around.neighbour, around.alike][most];
    if (!links || !links.total) return [...said, ", so its own features weigh most."];
    if (links.top === predicted) return [...said, ", which point to ", className(predicted), "."].map(singular);
    return [...said, ", which rather point to ", className(links.top), ": the rest must have decided."].map(singular);

    function singular(part) {
      return most === 0 && typeof part === "string" ? part.replace("point to", "points to") : part;
    }
  }
}

function runsTable(nodes, node) {
  const rows = nodes.about.runs.map((name, run) => {
    const predicted = nodes.predicted(node, run);
    const right = predicted === nodes.label(node);
    const mark = nodes.label(node) < 0 ? "" : right ? "✓" : "✗";
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, named(name)),
      make("td", {}, dot(predicted), named(nodes.className(predicted))),
      make("td", { class: "number" }, percent(nodes.sure(node, run))),
      make("td", { class: right ? "right" : "wrong" }, mark),
    );
  });
  return make("div", { class: "wide" }, make("table", { class: "by-run" }, make("tbody", {}, ...rows)));
}

function probabilityBars(nodes, node) {
  const most = 6;
  const sorted = nodes.probabilities(node).map((p, c) => [p, c]).sort((a, b) => b[0] - a[0]);
  const rows = sorted.slice(0, most).map(([p, c]) => bar(named(nodes.className(c)), p, `var(--c${c % 8})`, percent(p)));
  const rest = sorted.slice(most).reduce((sum, [p]) => sum + p, 0);
  if (sorted.length > most) rows.push(bar(`${sorted.length - most} others`, rest, "var(--faint)", percent(rest)));
  return make("div", { class: "bars" }, make("h4", {}, "Probabilities"), ...rows);
}

function bar(name, share, fill, said) {
  const width = `width: ${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%; background: ${fill}`;
  return make(
    "div",
    { class: "bar-row" },
    make("span", { class: "bar-name" }, name),
    make("span", { class: "bar-track", "aria-hidden": "true" }, make("span", { class: "bar-fill", style: width })),
    make("span", { class: "bar-value" }, said),
  );
}

function weights(nodes, node) {
  const leans = nodes.leans(node);
  if (!leans) return null;
  const rows = leans.map((weight, source) => bar(LEANS[source], weight, "var(--accent)", weight.toFixed(2)));
  const layers = nodes.scores(node).map((scores, layer) =>
    make(
      "p",
      { class: "small" },
      `Layer ${layer + 1}: graph ${scores[0].toFixed(2)}, look-alikes ${scores[1].toFixed(2)}, itself ${scores[2].toFixed(2)}`,
    ),
  );
  return make("div", { class: "bars" }, make("h4", {}, "Leans on"), ...rows, ...layers);
}

// The node between its neighbours (left) and its look-alikes (right).
function bowTie(nodes, node) {
  const [width, height, radius] = [440, 250, 110];
  const [x, y] = [width / 2, height / 2];
  const lines = [];
  const dots = [];
  for (const [kind, side] of [["neighbour", -1], ["alike", 1]]) {
    const links = nodes.links(node, kind);
    links.others.forEach((other, place) => {
      const share = links.others.length === 1 ? 0 : place / (links.others.length - 1) - 0.5;
      const angle = share * Math.PI * Math.min(0.86, 0.12 * links.others.length);
      const [ox, oy] = [x + side * (60 + radius * Math.cos(angle)), y + (radius + 4) * Math.sin(angle)];
      const opacity = links.similarity ? Math.max(0.15, links.similarity[place]) : 0.7;
      lines.push(draw("line", { x1: x, y1: y, x2: ox, y2: oy, class: "link", opacity: opacity.toFixed(2) }));
      const c = nodes.takenFor(other);
      const spot = circle(ox, oy, 6.5, c, `${nodes.id(other)}: ${nodes.className(c)}`);
      dots.push(draw("a", { href: linkTo(nodes, other), tabindex: "-1" }, spot));
    });
  }
  const centre = circle(x, y, 12, nodes.predicted(node), `${nodes.id(node)}: predicted ${nodes.className(nodes.predicted(node))}`);
  centre.classList.add("centre");
  return draw("svg", { class: "bow-tie", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...lines, ...dots, centre);
}

function circle(cx, cy, r, c, title) {
  return draw("circle", { cx, cy, r, style: `fill: var(--c${c % 8})` }, draw("title", {}, title));
}

function company(nodes, node, kind) {
  const links = nodes.links(node, kind);
  const alike = kind === "alike";
  const shown = links.others.length;
  const title = alike ? "Look-alikes" : nodes.about.directed ? "Neighbours it points to" : "Neighbours";
  const count = shown < links.total ? `${shown} of ${links.total.toLocaleString("en")}` : String(links.total);
  const items = links.others.map((other, place) => {
    const agrees = nodes.takenFor(other) === nodes.predicted(node);
    const extra = alike ? links.similarity[place].toFixed(2) : links.weight ? String(+links.weight[place].toPrecision(3)) : "";
    return make(
      "li",
      agrees ? { class: "agrees", title: "of the class that was predicted" } : {},
      make("a", { href: linkTo(nodes, other), class: "other" }, dot(nodes.takenFor(other)), named(nodes.id(other))),
      make("span", { class: "said" }, ...described(other)),
      make("span", { class: "extra" }, extra),
    );
  });
  return make(
    "section",
    { "aria-label": title },
    make("h4", {}, `${title} `, make("span", { class: "small" }, count)),
    alike ? make("p", { class: "small" }, "nearest by features, with their similarity") : make("p", { class: "small" }, links.weight ? "linked in the graph, with the link’s weight" : "linked in the graph"),
    make("ul", { class: "others" }, ...items),
  );

  function described(other) {
    const [label, predicted] = [nodes.label(other), nodes.predicted(other)];
    const said = label < 0 ? ["predicted ", named(nodes.className(predicted))] : [named(nodes.className(label))];
    if (label >= 0 && label !== predicted) said.push(", predicted ", named(nodes.className(predicted)), " ✗");
    else if (label >= 0) said.push(" ✓");
    return said;
  }
}
