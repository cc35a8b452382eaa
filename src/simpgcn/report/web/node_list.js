// A list of which only the rows in sight exist, walked through with the arrow keys.

const ROW = 44;

class NodeList {
  // render(node) gives a row's content; chosen(node, kept) hears of the row a person went to.
  constructor(element, render, chosen) {
    this.element = element;
    this.sizer = element.querySelector(".sizer");
    this.empty = element.querySelector(".empty");
    this.render = render;
    this.chosen = chosen;
    this.rows = [];
    this.active = 0;
    this.current = undefined;
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.go(Number(row.dataset.place), true);
    });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  // Show these nodes, from the top or where the present one is.
  show(rows) {
    this.rows = rows;
    this.active = 0;
    this.sizer.style.height = `${rows.length * ROW}px`;
    this.empty.hidden = rows.length > 0;
    this.element.scrollTop = 0;
    this.draw();
  }

  // Mark a node as the one in view.
  mark(node) {
    this.current = node;
    if (this.rows[this.active] !== node) {
      const place = this.rows.indexOf(node);
      if (place >= 0) this.active = place;
    }
    this.draw();
  }

  go(place, kept) {
    if (!this.rows.length) return;
    this.active = Math.max(0, Math.min(this.rows.length - 1, place));
    const top = this.active * ROW;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.element.scrollTop = top + ROW - clientHeight;
    this.chosen(this.rows[this.active], kept);
    this.draw();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.go(this.active + steps[event.key], false);
    else if (event.key === "Enter") this.go(this.active, true);
    else return;
    event.preventDefault();
  }

  draw() {
    const { scrollTop, clientHeight } = this.element;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - 4);
    const to = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + 4);
    const drawn = [];
    for (let place = from; place < to; place++) {
      const node = this.rows[place];
      const selected = node === this.current;
      drawn.push(
        make(
          "div",
          {
            role: "option",
            id: `row-${place}`,
            class: place === this.active ? "row active" : "row",
            "aria-selected": String(selected),
            "aria-setsize": String(this.rows.length),
            "aria-posinset": String(place + 1),
            "data-place": String(place),
            style: `top: ${place * ROW}px`,
          },
          ...this.render(node),
        ),
      );
    }
    this.sizer.replaceChildren(...drawn);
    if (this.rows.length) this.element.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.element.removeAttribute("aria-activedescendant");
  }
}
