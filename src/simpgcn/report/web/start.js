// What a reader sees first needs no script; the nodes are unpacked next, then the charts drawn.

async function start() {
  const about = read("about");
  const charts = read("charts");
  onTheme(() => window.vegaEmbed && drawCharts(charts));
  await pause();
  if (about.arrays.label) startExplorer(new Nodes(about, await unpackArrays(about.arrays)));
  document.documentElement.dataset.nodes = "ready";
  await loadLibrary();
  await drawCharts(charts);
}

start();
