// Finding a node and going from node to node; the address holds the one in view.

// The id that the address asks for; null where it asks for none.
function idInAddress() {
  const found = location.hash.match(/^#node=(.*)$/);
  try {
    return found && decodeURIComponent(found[1]);
  } catch {
    return found[1]; // a % that encodes nothing
  }
}

function startExplorer(nodes) {
  const field = (id) => document.getElementById(id);
  const view = field("node");
  const list = new NodeList(field("list"), row, (node, kept) => {
    const address = linkTo(nodes, node);
    if (kept && location.hash !== address) location.hash = address;
    else location.replace(address); // a step with the arrow keys is not one to go back to
  });
  const present = nodes.about.splits.filter((_, split) => nodes.arrays.split.includes(split));
  field("set").append(...present.map((name) => make("option", { value: name }, name)));
  field("differ-label").hidden = nodes.about.runs.length < 2;

  function row(node) {
    const labelled = nodes.label(node) >= 0;
    const wrong = nodes.isWrong(node);
    const mark = labelled ? make("span", { class: wrong ? "wrong" : "right", title: wrong ? "wrong" : "right" }, wrong ? "✗" : "✓") : make("span", {}, "");
    const differ = nodes.about.runs.length > 1 && nodes.runsDiffer(node) ? make("span", { class: "differs", title: "runs differ" }, "≠") : null;
    return [
      dot(nodes.predicted(node)),
      make("span", { class: "row-id" }, named(nodes.id(node))),
      make("span", { class: "row-said" }, named(nodes.className(nodes.predicted(node)))),
      differ,
      make("span", { class: "row-sure" }, percent(nodes.sure(node))),
      mark,
    ];
  }

  function refill() {
    const wanted = field("search").value.trim().toLowerCase();
    const set = nodes.about.splits.indexOf(field("set").value);
    const [wrong, differ] = [field("wrong").checked, field("differ").checked];
    const found = nodes.ordered(field("sort").value).filter(
      (node) =>
        (set < 0 || nodes.arrays.split[node] === set) &&
        (!wrong || nodes.isWrong(node)) &&
        (!differ || nodes.runsDiffer(node)) &&
        (!wanted || nodes.lowered[node].includes(wanted)),
    );
    if (wanted) {
      // The node called exactly so comes first.
      const place = found.findIndex((node) => nodes.lowered[node] === wanted);
      if (place > 0) {
        const exact = found[place];
        found.copyWithin(1, 0, place);
        found[0] = exact;
      }
    }
    field("count").textContent = `${found.length.toLocaleString("en")} ${found.length === 1 ? "node" : "nodes"}`;
    list.show(found);
  }

  function visit() {
    const asked = idInAddress();
    let node = asked === null ? undefined : nodes.find(asked);
    if (asked !== null && node === undefined) {
      view.replaceChildren(make("p", { class: "lead" }, "There is no node ", named(asked), "."));
      return;
    }
    if (node === undefined) {
      if (list.current !== undefined && location.hash) return; // a link to a section
      node = list.rows[0];
      if (node === undefined) return;
    }
    view.replaceChildren(...nodeView(nodes, node));
    view.dataset.node = nodes.id(node);
    list.mark(node);
  }

  for (const id of ["sort", "set", "wrong", "differ"]) field(id).addEventListener("change", refill);
  field("search").addEventListener("input", refill);
  field("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") list.go(0, true);
    else if (event.key === "ArrowDown") {
      event.preventDefault();
      list.element.focus();
      list.go(0, false);
    } else if (event.key === "Escape") {
      field("search").value = "";
      refill();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    field("search").focus();
    field("search").select();
  });
  addEventListener("hashchange", visit);
  refill();
  visit();
  if (idInAddress() !== null) field("nodes").scrollIntoView();
}
