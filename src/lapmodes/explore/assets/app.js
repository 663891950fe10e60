// The explorer's page: one state that the server tells, and everything that is drawn from it.
import { bytes, element, parts, ramp, rgb, shown, value, words } from "./figure.js";
import { binary, connect, json, picture } from "./link.js";
import { PlaneMap } from "./map.js";
import { called, makeKnobs, showActs, showChange, showCheck, showClusters, showRows } from "./panels.js";

const $ = (id) => document.getElementById(id), root = document.documentElement;
const calm = matchMedia("(prefers-reduced-motion: reduce)"), night = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (root.dataset.theme || (night.matches ? "dark" : "light")) === "dark";
const LEFT_OUT = 65535, WITHOUT_WEBGL = new URLSearchParams(location.search).get("webgl") === "0";
const app = { state: null, selection: new Uint32Array(), review: { what: "uncertain", at: 0 }, arrays: null, details: null, pending: null, choice: "cluster", term: "" };

// ---- news
let fading = 0;
const news = (text) => {
  $("news").textContent = text;
  clearTimeout(fading);
  fading = setTimeout(() => { $("news").textContent = ""; }, 7000);
};
app.news = news;

// ---- acts: one at a time; of knobs that are turned meanwhile the last counts
let send = () => {};
app.act = (act) => {
  if (app.state.busy) return news("Wait until the fit is done, or stop it.");
  app.state.busy = "…";
  send({ kind: "do", at: app.state.version, act });
};
app.turn = (act) => { if (app.state.busy) app.pending = act; else app.act(act); };
const step = (kind) => { if (!app.state.busy) { app.state.busy = "…"; send({ kind, at: app.state.version }); } };
$("undo").addEventListener("click", () => step("undo"));
$("redo").addEventListener("click", () => step("redo"));
$("stop").addEventListener("click", () => send({ kind: "stop", what: app.placing ? "map" : "fit" }));
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || ["INPUT", "TEXTAREA"].includes(event.target.tagName) && event.target.type === "text") return;
  const kind = event.key === "z" && !event.shiftKey ? "undo" : event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey) ? "redo" : null;
  if (kind) { event.preventDefault(); step(kind); }
});

// ---- colours
const columns = new Map();
const column = async (i) => {
  if (!columns.has(i)) {
    const found = await json("column", { i });
    columns.set(i, { ...found, codes: found.kind === "many" ? words(found.codes) : bytes(found.codes) });
  }
  return columns.get(i);
};
const FEW = 12;
const scaled = (low, middle, high) => (v) => (v < middle ? 0.5 - (0.5 * (middle - v)) / (middle - low || 1) : 0.5 + (0.5 * (v - middle)) / (high - middle || 1));
const hues = (n) => Array.from({ length: n }, (_, i) => `hsl(${(200 + 222.5 * i) % 360} 55% ${[42, 55, 66][i % 3]}%)`);
const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const triple = (color) => {
  if (color[0] === "#") return parts(color);
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
};
// A function from a row to [red, green, blue], and the legend that goes with it.
const painter = async (arrays, clusters) => {
  const own = clusters.map((cluster) => parts(cluster.color)), { choice } = app;
  if (choice === "cluster") return { paint: (i) => own[arrays.first[i]], clusters };
  if (choice === "soft") return { clusters, paint: (i) => {
    const a = own[arrays.first[i]], b = own[arrays.second[i]], share = arrays.weight[i] / 255;
    return [0, 1, 2].map((c) => b[c] + share * (a[c] - b[c]));
  } };
  const steps = ramp(dark()).map((color) => color.match(/\d+/g).map(Number)), graded = (share) => steps[Math.round(32 * Math.min(1, Math.max(0, share || 0)))];
  if (!app.about.drawn) return { ends: choice.startsWith("search:") ? ["other rows", `with “${app.term}”`] : ["low", "high"] };
  if (choice === "entropy") return { paint: (i) => graded(arrays.entropy[i] / 255), ends: ["certain", "even"] };
  if (choice === "density") {
    app.density ||= new Uint8Array((await binary("density")).buffer);
    return { paint: (i) => graded(app.density[i] / 255), ends: ["alone", "crowded"] };
  }
  if (choice.startsWith("search:")) {
    const mask = new Uint8Array((await binary("search", { q: app.term })).buffer), found = mask.reduce((sum, each) => sum + each, 0);
    return { paint: (i) => graded(mask[i]), items: [[`${found.toLocaleString("en")} rows with “${app.term}”`, rgb(steps[32])], ["other rows", rgb(steps[0])]] };
  }
  const each = await column(Number(choice.slice(7)));
  if (each.kind === "many" || (each.kind === "few" && each.values.length > 8)) {
    const sorted = Float64Array.from({ length: app.about.n }, (_, i) => value(each, i)).filter((v) => !isNaN(v)).sort();
    const [low, middle, high] = [0.02, 0.5, 0.98].map((share) => sorted[Math.round(share * (sorted.length - 1))]), at = scaled(low, middle, high);
    return { paint: (i) => graded(at(value(each, i))), ends: [`${shown(low)} or less`, `${shown(middle)} median`, `${shown(high)} or more`] };
  }
  const limit = Math.min(FEW, each.values.length), colors = hues(limit), triples = colors.map(triple), rest = [150, 150, 150];
  const items = each.values.slice(0, limit).map((text, c) => [shown(text), colors[c]]);
  if (limit < each.values.length) items.push(["other", rgb(rest)]);
  return { paint: (i) => triples[each.codes[i]] || rest, items };
};
const colored = ({ paint }, arrays, clusters) => {
  const { n } = app.about, colors = new Uint8Array(4 * n), hidden = clusters.map((cluster) => cluster.hidden), some = app.selection.length > 0;
  const full = n > 2000 ? 190 : 217;
  for (let i = 0; i < n; i++) {
    if (arrays.first[i] === LEFT_OUT || hidden[arrays.first[i]]) continue;
    const color = paint(i);
    colors[4 * i] = color[0];
    colors[4 * i + 1] = color[1];
    colors[4 * i + 2] = color[2];
    colors[4 * i + 3] = some ? (app.mask[i] ? 255 : 38) : full;
  }
  return colors;
};
const swatch = (parent, color) => { element("i", undefined, parent).style.background = color; };
const showLegend = ({ clusters, ends, items }) => {
  const legend = $("legend");
  legend.replaceChildren();
  if (ends) {
    const scale = element("div", undefined, legend), line = element("div");
    scale.className = "scale";
    element("i", undefined, scale).style.background = `linear-gradient(to right, ${ramp(dark()).join(",")})`;
    for (const end of ends) element("span", end, line);
    scale.append(line);
  } else if (clusters) clusters.forEach((cluster, k) => {
    const button = element("button", undefined, legend);
    button.type = "button";
    swatch(button, cluster.color);
    element("span", called(app.state, k), button).dir = "auto";
    button.setAttribute("aria-label", `Select ${called(app.state, k)}, ${cluster.size} rows`);
    button.addEventListener("click", async () => app.select(await app.rowsOf(k), false));
  });
  else for (const [text, color] of items) {
    const item = element("span", undefined, legend);
    item.className = "item";
    swatch(item, color);
    element("span", text, item).dir = "auto";
  }
};
const repaint = async () => {
  const { state, arrays } = app;
  app.map.clusters = state.clusters;
  Object.assign(app.map, { choice: app.choice, dark: dark(), version: state.version });
  const found = await painter(arrays, state.clusters);
  if (app.state !== state) return;
  if (app.map.dots) app.map.paint(colored(found, arrays, state.clusters));
  app.map.soon();
  showLegend(found);
  if (app.other) paintBefore();
};

// ---- the state
const unpacked = (buffer, n) => ({ first: new Uint16Array(buffer, 0, n), second: new Uint16Array(buffer, 2 * n, n), weight: new Uint8Array(buffer, 4 * n, n), entropy: new Uint8Array(buffer, 5 * n, n) });
// Where rows are too many to be drawn here, nothing is known of each of them.
const shares = async (version) => {
  if (!app.about.drawn) return {};
  return unpacked(pushed.version === version ? pushed.buffer : (await binary("shares", { version })).buffer, app.about.n);
};
let pushed = {};
const take = (data) => { pushed = { version: new DataView(data).getFloat64(0, true), buffer: data.slice(8) }; };
const placeModes = async () => {
  const { version } = app.state, found = await json("modes", { view: app.map.view.key, version }).catch(() => null);
  if (found && app.state.version === version) { Object.assign(app.map, found); app.map.soon(); }
};
const receive = async (state) => {
  const before = app.state, fresh = before?.version !== state.version;
  app.state = state;
  $("undo").disabled = state.done === 0;
  $("redo").disabled = state.done === state.acts.length;
  $("sizes").textContent = [`${state.n.toLocaleString("en")} rows`, `${state.clusters.length} clusters`, ...(state.left_out ? [`${state.left_out.toLocaleString("en")} left out`] : [])].join(" · ");
  showKnobs ||= makeKnobs(app);
  if (!state.busy) { working(null); showKnobs(state); }
  if (fresh) {
    const arrays = await shares(state.version).catch(() => null);
    if (!arrays || app.state !== state) return;
    app.arrays = arrays;
    if (app.map.view) placeModes();
    await repaint();
    showChange(app);
    showClusters(app);
    showRows(app);
    showActs(app);
    showCheck(app);
    if (before && state.change && state.change.before !== before.change?.before) news(`${state.change.act}: ${state.change.moved.toLocaleString("en")} rows moved.`);
    root.dataset.version = state.version;
  }
  if (app.pending && !state.busy) { const act = app.pending; app.pending = null; app.act(act); }
};
let showKnobs = null, queue = Promise.resolve();
const working = (what, message) => {
  $("work").hidden = !what;
  if (!what) return;
  $("doing").textContent = what;
  const bar = $("bar");
  if (message?.total) { bar.max = message.total; bar.value = message.done; } else bar.removeAttribute("value");
};
const PHASES = { neighbours: "Finding neighbours", start: "Finding a start", alternate: "Clustering", select: "Choosing K", map: "Placing rows" };
const HEAR = {
  state: (message) => { queue = queue.then(() => receive(message)).catch((error) => news(String(error.message || error))); },
  busy: (message) => { app.state.busy = message.what; working(message.what); },
  progress: (message) => { app.placing = message.what === "map"; working(PHASES[message.phase] || message.phase, message); },
  refused: (message) => { news(message.why); app.state.busy = null; if (!message.stale) send({ kind: "sync" }); },
  stopped: () => news("Stopped; nothing was changed."),
  levels: () => { app.state.levels_ready = true; },
  map: (message) => { app.placing = false; working(null); if (message.ready) show("neighbours"); },
  saved: (message) => { $("saved").textContent = `Saved to ${message.folder}: ${message.files.join(", ")}.`; },
};

// ---- the map
const views = new Map();
const viewOf = async (key) => {
  if (!views.has(key)) {
    const { buffer, about } = await binary("positions", { view: key, raster: app.map.dots ? 0 : 1 });
    if (key.startsWith("columns:")) for (const other of views.keys()) if (other.startsWith("columns:")) views.delete(other);
    views.set(key, { ...about, positions: new Float32Array(buffer) });
  }
  return views.get(key);
};
const show = async (key) => {
  const view = await viewOf(key);
  app.map.show(view, { calm: calm.matches });
  app.map.choose(app.selection);
  $("caption").textContent = view.caption;
  app.map.canvas.setAttribute("aria-label", `Map of ${app.about.n.toLocaleString("en")} rows. ${view.caption} Arrow keys move it, plus and minus zoom, Enter names the row in the middle, s selects all rows in sight.`);
  await placeModes();
  if (app.other) { app.other.show(view, { calm: true }); paintBefore(); }
};
const fillViews = () => {
  const { about } = app, choices = [...(about.first_view === "components" ? [["components", "Components"]] : []), ...(about.neighbours ? [["neighbours", "Neighbours"]] : []), ["columns", "Columns"]];
  for (const [key, text] of choices) {
    const label = element("label", undefined, $("views")), input = element("input", undefined, label);
    Object.assign(input, { type: "radio", name: "view", value: key, checked: about.first_view.startsWith(key) });
    element("span", text, label);
    input.addEventListener("change", () => choose(key));
  }
  for (const [id, at] of [["across", 0], ["up", Math.min(1, about.features.length - 1)]]) {
    about.features.slice(0, 2000).forEach((name, i) => { element("option", name, $(id)).value = i; });
    $(id).value = at;
    $(id).addEventListener("change", () => choose("columns"));
  }
};
const choose = (key) => {
  $("axes").hidden = key !== "columns" || app.about.features.length < 2;
  if (key === "columns") show(`columns:${$("across").value},${$("up").value}`);
  else if (key !== "neighbours" || views.has(key) || app.state.neighbours_ready) show(key);
  else { working("Placing rows"); app.placing = true; send({ kind: "map", key }); }
};
const fillColours = () => {
  const select = $("colour");
  for (const [key, text] of [["cluster", "cluster"], ["soft", "mixed shares"], ["density", "density"], ["entropy", "uncertainty"], ["search:", "a search term"]]) element("option", text, select).value = key;
  const groups = [["Columns used", 0, app.about.features.length], ["Columns not used", app.about.features.length, app.about.columns.length]];
  for (const [title, from, to] of groups) if (to > from) {
    const group = element("optgroup", undefined, select);
    group.label = title;
    app.about.columns.slice(from, Math.min(to, from + 2000)).forEach((name, i) => { element("option", name, group).value = `column:${from + i}`; });
  }
  const change = () => {
    $("term-box").hidden = select.value !== "search:";
    app.term = $("term").value.trim();
    app.choice = select.value === "search:" ? `search:${app.term}` : select.value;
    repaint();
  };
  select.addEventListener("change", change);
  let pause = 0;
  $("term").addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(change, 250); });
};
for (const input of document.querySelectorAll('input[name="tool"]')) input.addEventListener("change", () => { app.map.tool = input.value; app.map.soon(); });
const ZOOM = { in: () => app.map.zoom(0.7), out: () => app.map.zoom(1 / 0.7), all: () => app.map.home() };
for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", ZOOM[button.dataset.zoom]);

// ---- a row under the hand
const pair = (list, name, text) => { const line = element("div", undefined, list); element("dt", name, line).dir = "auto"; element("dd", text, line).dir = "auto"; };
let pointed = -1;
const tell = async (row, x, y) => {
  const tip = $("tip");
  pointed = row;
  if (row < 0) { tip.hidden = true; return; }
  const found = await json("row", { i: row, version: app.state.version }).catch(() => null);
  if (!found || pointed !== row) return;
  tip.replaceChildren();
  element("strong", found.name, tip).dir = "auto";
  const said = found.cluster < 0 ? "left out" : found.shares.filter((each) => each.share > 0.005).map((each) => `${called(app.state, each.cluster)} ${Math.round(100 * each.share)} %`).join(", ");
  element("div", said, tip).dir = "auto";
  if (app.about.pictures) { const image = element("img", undefined, tip); image.alt = ""; image.src = picture({ row }); }
  const list = element("dl", undefined, tip);
  list.className = "pairs";
  found.values.slice(0, 8).forEach(([name, text]) => pair(list, name, text));
  tip.hidden = false;
  const box = app.map.canvas.getBoundingClientRect(), left = box.left + (x ?? 0), top = box.top + (y ?? 0), { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.max(6, left + 18 + width > innerWidth ? left - 18 - width : left + 18)}px`;
  tip.style.top = `${Math.max(6, Math.min(top - height / 2, innerHeight - height - 6))}px`;
};

// ---- the selection
app.rowsOf = async (k) => new Uint32Array((await binary("members", { cluster: k, version: app.state.version })).buffer);
app.select = (rows, add) => {
  app.mask = new Uint8Array(app.about.n);
  if (add) for (const row of app.selection) app.mask[row] = 1;
  for (const row of rows) app.mask[row] = 1;
  app.selection = Uint32Array.from(add ? app.mask.reduce((found, each, row) => (each && found.push(row), found), []) : rows);
  if (app.selection.length) openTab("rows");
  app.map.choose(app.selection);
  showRows(app);
  repaint();
};
app.download = async (name, blob) => {
  const link = element("a"), url = URL.createObjectURL(await blob);
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};

// ---- tabs
const tabs = [...document.querySelectorAll('[role="tab"]')];
const openTab = (id) => {
  for (const tab of tabs) {
    const own = tab.getAttribute("aria-controls") === id;
    tab.setAttribute("aria-selected", String(own));
    tab.tabIndex = own ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !own;
  }
};
tabs.forEach((tab, i) => {
  const fill = { rows: () => showRows(app), check: () => showCheck(app), clusters: () => {}, acts: () => {} }, id = tab.getAttribute("aria-controls");
  tab.addEventListener("click", () => { openTab(id); fill[id](); });
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(i + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
});

// ---- before and after
const paintBefore = async () => {
  const { change } = app.state, version = change?.before;
  const arrays = version === undefined ? null : await shares(version).catch(() => null);
  if (!arrays || !app.other) return;
  const count = change.n_clusters[0], colors = app.state.clusters.map((cluster) => cluster.color), more = hues(count);
  const clusters = Array.from({ length: count }, (_, k) => ({ ...(app.state.clusters[k] || { name: "", hidden: false, size: 1 }), color: colors[k] || `#${triple(more[k]).map((part) => part.toString(16).padStart(2, "0")).join("")}` }));
  Object.assign(app.other, { clusters, choice: app.choice, dark: dark(), version });
  Object.assign(app.other, await json("modes", { view: app.map.view.key, version }).catch(() => ({})));
  if (app.other.dots) app.other.paint(colored(await painter(arrays, clusters), arrays, clusters));
  app.other.soon();
};
$("compare").addEventListener("click", async () => {
  const open = !app.other, box = $("before");
  $("compare").setAttribute("aria-pressed", String(open));
  box.hidden = !open;
  for (const caption of document.querySelectorAll(".side figcaption")) caption.hidden = !open;
  if (!open) { app.other = null; box.querySelector(".plane").replaceChildren(); app.map.tell.moved = undefined; return; }
  const other = new PlaneMap(box.querySelector(".plane"), app.about, { pointed: () => {}, selected: app.select, moved: (seen) => app.map.look(seen, true) }, { webgl: Boolean(app.map.dots) });
  other.canvas.setAttribute("aria-label", "The map before the last act.");
  other.show(app.map.view, { calm: true });
  app.map.tell.moved = (seen) => other.look(seen, true);
  app.other = other;
  await paintBefore();
});

// ---- saving
const svgOf = () => {
  const { map } = app, [width, height] = map.size, text = (value) => { const box = element("span", value); return box.innerHTML; };
  const image = map.painted().toDataURL("image/png"), lines = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`];
  if (!map.dots || app.about.n > 20000) lines.push(`<image href="${image}" width="${width}" height="${height}"/>`);
  else {
    const place = map.place, { positions } = map.view, colors = colored(app.lastPaint, app.arrays, app.state.clusters);
    lines.push(`<rect width="${width}" height="${height}" fill="${getComputedStyle(root).getPropertyValue("--paper")}"/>`);
    for (let i = 0; i < app.about.n; i++) if (colors[4 * i + 3]) {
      const [x, y] = [place.x(positions[2 * i]), place.y(positions[2 * i + 1])];
      if (x > -9 && y > -9 && x < width + 9 && y < height + 9) lines.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${map.radius.toFixed(1)}" fill="rgb(${colors.slice(4 * i, 4 * i + 3).join(",")})" fill-opacity="${(colors[4 * i + 3] / 255).toFixed(2)}"/>`);
    }
    map.modes.forEach(([a, b], k) => lines.push(`<text x="${map.place.x(a).toFixed(1)}" y="${map.place.y(b).toFixed(1)}" font-family="sans-serif" font-size="13" font-weight="600" text-anchor="middle">${text(called(app.state, k))}</text>`));
  }
  return new Blob([lines.join("\n"), "</svg>\n"], { type: "image/svg+xml" });
};
const fillSaving = () => {
  const box = $("savable"), buttons = element("div", undefined, box);
  buttons.className = "row-buttons";
  element("p", app.about.can_save ? "The folder gets the clusters of all rows in the format of the input, the model, a report, and a recipe that repeats everything from the raw file." : "Started without a folder: only pictures can be saved here. In Python, the attributes of the exploration have the rest.", box).className = "quiet";
  const add = (text, act) => { const made = element("button", text, buttons); made.type = "button"; made.addEventListener("click", act); return made; };
  if (app.about.can_save) { const all = add("Save everything", () => { $("saved").textContent = "Saving …"; send({ kind: "save" }); }); all.className = "primary"; all.id = "save-all"; }
  add("Map as PNG", () => app.download("map.png", new Promise((done) => app.map.painted().toBlob(done, "image/png"))));
  add("Map as SVG", async () => { app.lastPaint = await painter(app.arrays, app.state.clusters); app.download("map.svg", Promise.resolve(svgOf())); });
};
$("save").addEventListener("click", () => $("saving").showModal());

// ---- light and dark
const themed = () => { $("theme").textContent = dark() ? "Light" : "Dark"; if (app.state) repaint(); };
$("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; themed(); });
night.addEventListener("change", () => { delete root.dataset.theme; themed(); });

// ---- the beginning
app.about = await json("about");
$("title").textContent = app.about.title;
app.map = new PlaneMap($("map"), app.about, { pointed: tell, selected: app.select }, { webgl: !WITHOUT_WEBGL });
app.map.unseen = (row) => !app.arrays?.first || app.arrays.first[row] === LEFT_OUT || app.state.clusters[app.arrays.first[row]]?.hidden;
fillViews();
fillColours();
fillSaving();
themed();
const [, snapshot] = await Promise.all([viewOf(app.about.first_view), json("state")]);
await receive(snapshot);
await show(app.about.first_view);
await repaint();
root.dataset.ready = "yes";
send = connect((message) => HEAR[message.kind]?.(message), take, (lost) => { $("lost").hidden = !lost; });
