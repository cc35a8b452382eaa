// Draws the charts with Vega-Lite, one after another so that the page stays responsive.

function chartConfig() {
  const ink = colour("ink");
  const faint = colour("faint");
  const line = colour("line");
  const font = getComputedStyle(document.body).fontFamily;
  const text = { labelFont: font, titleFont: font, labelColor: faint, titleColor: faint, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 };
  return {
    background: "transparent",
    font,
    view: { stroke: null },
    axis: { ...text, gridColor: line, domainColor: line, tickColor: line, titlePadding: 8 },
    axisX: { labelFlush: false },
    axisY: { domain: false, ticks: false },
    legend: { ...text, labelColor: ink, columnPadding: 16, offset: 8, symbolOpacity: 1 },
    line: { strokeWidth: 2 },
    range: {
      category: Array.from({ length: 8 }, (_, c) => colour("c" + c)),
      heatmap: [colour("card"), colour("c0")],
    },
    style: {
      kept: { color: faint, strokeDash: [4, 3], strokeWidth: 1 },
      note: { color: faint, fontSize: 11 },
      diagonal: { color: faint, strokeDash: [4, 4], strokeWidth: 1 },
      count: { color: ink, fontSize: 12 },
      "deep-count": { color: colour("on-accent"), fontSize: 12, fontWeight: 600 },
      "bar-label": { color: colour("on-accent"), fontSize: 12, fontWeight: 600 },
    },
  };
}

let drawn = [];
let drawing = 0;

async function drawCharts(specs) {
  const turn = ++drawing;
  const config = chartConfig();
  const before = drawn;
  drawn = [];
  before.forEach((chart) => chart.finalize());
  for (const plot of document.querySelectorAll(".plot")) {
    await pause();
    if (turn !== drawing) return; // the theme was changed meanwhile
    // Expressions are interpreted: the page's policy allows no eval.
    const options = { config, renderer: "svg", actions: false, ast: true, mode: "vega-lite" };
    drawn.push(await vegaEmbed(plot, specs[plot.dataset.chart], options));
  }
  document.documentElement.dataset.charts = "drawn";
}

async function loadLibrary() {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await unpack("library"));
  document.head.append(script);
}
