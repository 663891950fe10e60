"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const words = (text) => new Uint16Array(bytes(text).buffer);
  const index = data.wide ? words : bytes;
  const place = (text, axis) => Float64Array.from(words(text), (step) => data.low[axis] + (step / 65535) * data.span[axis]);
  const root = document.documentElement;
  const MANY = 4000, FEW = 6000;
  // Blue to yellow, which colour-blind eyes tell apart; both ends stand out from the page.
  const ON_LIGHT = [[0, "#00306f"], [0.5, "#7d7c78"], [1, "#d8a200"]], ON_DARK = [[0, "#5f87c4"], [0.5, "#a5a08a"], [1, "#ffe94e"]];

  const x = place(data.x, 0), y = place(data.y, 1);
  const first = index(data.first), second = index(data.second), weight = bytes(data.weight);
  const density = bytes(data.density), entropy = bytes(data.entropy);
  const rows = data.rows ? new Uint32Array(bytes(data.rows).buffer) : null;
  const rgb = data.colors.map((color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)));

  const webgl = (() => {
    try {
      const canvas = document.createElement("canvas");
      return Boolean(canvas.getContext("webgl2") || canvas.getContext("webgl"));
    } catch (error) { return false; }
  })();
  // Without WebGL a browser draws thousands of dots, not hundreds of thousands: every so many are shown.
  const step = x.length > FEW && !webgl ? Math.ceil(x.length / FEW) : 1;
  const shown = Array.from({ length: Math.ceil(x.length / step) }, (_, i) => i * step);

  const mixed = (i) => {
    const share = weight[i] / 255, a = rgb[first[i]], b = rgb[second[i]];
    return `rgb(${a.map((part, c) => Math.round(share * part + (1 - share) * b[c])).join(",")})`;
  };
  const label = (i) => {
    const row = rows ? rows[i] : i;
    const name = data.names ? data.names[row] : `row ${(row + 1).toLocaleString("en")}`;
    const share = Math.round((100 * weight[i]) / 255);
    const other = share < 100 ? `, ${100 - share} % cluster ${second[i]}` : "";
    return `${name}<br>${share} % cluster ${first[i]}${other}`;
  };
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const layout = (extra) => {
    const ink = style("--ink"), line = style("--line");
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      margin: { l: 50, r: 20, t: 10, b: 45 }, showlegend: false, hovermode: "closest", dragmode: "zoom",
    };
    const merged = { ...base, ...extra };
    for (const key of Object.keys(merged)) if (/^[xy]axis/.test(key)) merged[key] = { ...axis, ...merged[key] };
    return merged;
  };
  const config = { displayModeBar: false, responsive: true, displaylogo: false };
  const size = Math.max(3, Math.min(8, 260 / Math.sqrt(shown.length + 1) + 2));

  const markers = (choice) => {
    const bar = (title, low, high) => ({ showscale: true, cmin: 0, cmax: 255, colorscale: root.dataset.theme === "dark" ? ON_DARK : ON_LIGHT,
      colorbar: { title: { text: title, side: "right" }, thickness: 12, tickvals: [0, 255], ticktext: [low, high], outlinewidth: 0 } });
    const common = { size, opacity: shown.length > 20000 ? 0.6 : 0.85 };
    if (choice === "density") return { ...common, color: shown.map((i) => density[i]), ...bar("density (rank)", "alone", "crowded") };
    if (choice === "entropy") return { ...common, color: shown.map((i) => entropy[i]), ...bar("uncertainty", "certain", "even") };
    return { ...common, color: shown.map((i) => (choice === "soft" ? mixed(i) : data.colors[first[i]])) };
  };

  const drawMap = () => {
    const choice = document.querySelector('input[name="colour"]:checked').value;
    const dots = {
      type: webgl && shown.length > MANY ? "scattergl" : "scatter", mode: "markers",
      x: shown.map((i) => x[i]), y: shown.map((i) => y[i]), text: shown.map(label), hoverinfo: "text", marker: markers(choice),
    };
    const few = data.modes.length <= 40;
    const modes = {
      type: dots.type, mode: few && dots.type === "scatter" ? "markers+text" : "markers", x: data.modes.map((m) => m[0]), y: data.modes.map((m) => m[1]),
      text: data.modes.map((_, k) => `${k}`), textposition: "top center", textfont: { size: 15, color: style("--ink") },
      hovertext: data.modes.map((_, k) => `mode of cluster ${k}`), hoverinfo: "text",
      marker: { symbol: "diamond", size: 15, color: data.colors, line: { width: 2, color: style("--ink") } },
    };
    document.getElementById("legend").hidden = choice === "density" || choice === "entropy";
    Plotly.react("map-chart", [dots, modes],
      layout({ xaxis: { title: { text: data.axes[0] } }, yaxis: { title: { text: data.axes[1] } } }), config);
  };

  const drawConvergence = () => {
    const rounds = data.objective.map((_, i) => i + 1);
    const [ours, other] = [style("--accent"), style("--mark")];
    const traces = [
      { type: "scatter", mode: "lines+markers", name: "objective", x: rounds, y: data.objective, line: { color: ours }, hovertemplate: "round %{x}: %{y:.6g}<extra>objective</extra>" },
      { type: "scatter", mode: "lines+markers", name: "proven gap", x: rounds, y: data.gap, yaxis: "y2", line: { color: other, dash: "dot" }, marker: { symbol: "square" }, hovertemplate: "round %{x}: %{y:.3g}<extra>proven gap</extra>" },
    ];
    const positive = data.gap.every((gap) => gap > 0);
    // A change too small to matter is drawn as the flat line that it is, and a gap of zero lies on the floor.
    const [low, high] = [Math.min(...data.objective), Math.max(...data.objective)];
    const flat = high - low < 1e-6 * Math.abs(high) ? 1e-3 * Math.abs(high) : 0;
    Plotly.react("convergence-chart", traces, layout({
      margin: { l: 60, r: 65, t: 10, b: 45 },
      xaxis: { title: { text: "round" }, dtick: rounds.length < 12 ? 1 : undefined },
      yaxis: { title: { text: "objective", font: { color: ours } }, range: flat ? [low - flat, high + flat] : undefined },
      yaxis2: { title: { text: "proven gap", font: { color: other } }, overlaying: "y", side: "right", showgrid: false,
        type: positive ? "log" : "linear", tickformat: ".1e", nticks: 5, ...(positive ? {} : { rangemode: "tozero" }),
        ...(data.gap.every((gap) => gap === 0) ? { range: [0, 1], tickvals: [0], ticktext: ["0"] } : {}) },
    }), config);
  };

  const draw = () => { drawMap(); drawConvergence(); };
  const button = document.getElementById("theme");
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
    draw();
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", (event) => setTheme(event.matches));
  button.addEventListener("click", () => setTheme(root.dataset.theme !== "dark"));
  for (const input of document.querySelectorAll('input[name="colour"]')) input.addEventListener("change", drawMap);
  setTheme(system.matches);
})();
