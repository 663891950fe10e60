// The panels beside the map: knobs, what changed, clusters, selected rows, rows to check, acts. All text is textContent.
import { element, shown } from "./figure.js";
import { json, picture, posted } from "./link.js";

const $ = (id) => document.getElementById(id);
const count = (n, thing) => `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;
export const called = (state, k) => state.clusters[k]?.name || `cluster ${k}`;
const button = (text, parent, act, kind = "") => {
  const made = element("button", text, parent);
  made.type = "button";
  made.className = kind;
  made.addEventListener("click", act);
  return made;
};
const svg = (tag, attributes, parent) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent?.append(made);
  return made;
};
const image = (query, text, parent) => {
  const made = element("img", undefined, parent);
  made.alt = text;
  made.src = picture(query);
  return made;
};
const clusterChoice = (app, parent, text, start = -1) => {
  const select = element("select", undefined, parent);
  select.setAttribute("aria-label", text);
  element("option", text, select).value = "";
  app.state.clusters.forEach((_, k) => { if (k !== start) element("option", called(app.state, k), select).value = k; });
  return select;
};

// ---- knobs
const slider = (parent, key, name, why) => {
  const box = element("div", undefined, parent), label = element("label", name, box), output = element("output", "", box), input = element("input", undefined, box);
  box.className = "knob";
  input.type = "range";
  input.id = label.htmlFor = `knob-${key}`;
  output.htmlFor = input.id;
  input.disabled = Boolean(why);
  if (why) element("p", why, box);
  return { input, output };
};
export const makeKnobs = (app) => {
  const parent = $("sliders"), made = {};
  const levels = app.state.levels;
  const tell = (knob, text) => { knob.output.textContent = text; knob.input.setAttribute("aria-valuetext", text); };
  made.K = slider(parent, "clusters", "Clusters K", levels.length ? "" : "This model has no levels to step through.");
  made.K.text = (at) => `${levels[at] ?? app.state.clusters.length}`;
  Object.assign(made.K.input, { min: 0, max: Math.max(0, levels.length - 1), step: 1 });
  made.K.input.addEventListener("input", () => tell(made.K, made.K.text(Number(made.K.input.value))));
  made.K.input.addEventListener("change", () => app.turn({ kind: "level", n_clusters: levels[Number(made.K.input.value)] }));
  for (const each of app.state.knobs) {
    const knob = (made[each.knob] = slider(parent, each.knob, each.name[0].toUpperCase() + each.name.slice(1), each.why));
    knob.text = (at) => (each.why ? "" : each.values[at + each.most]);
    Object.assign(knob.input, { min: -each.most, max: each.most, step: 1 });
    knob.input.addEventListener("input", () => tell(knob, knob.text(Number(knob.input.value))));
    knob.input.addEventListener("change", () => app.turn({ kind: "turn", knob: each.knob, notch: Number(knob.input.value) }));
  }
  return (state) => {
    const at = levels.indexOf(state.clusters.length);
    if (at >= 0) made.K.input.value = at;
    tell(made.K, String(state.clusters.length));
    for (const each of state.knobs) { made[each.knob].input.value = each.notch; tell(made[each.knob], made[each.knob].text(each.notch)); }
    const share = state.gap / Math.max(Math.abs(state.objective), 1e-300);
    $("proof").textContent = `objective ${shown(state.objective)}, proven within ${shown(100 * share)} %`;
  };
};

// ---- what changed
export const showChange = (app) => {
  const { state } = app, { change } = state, box = $("changed");
  $("change").hidden = !change && !state.notes.length;
  box.replaceChildren();
  for (const note of state.notes) element("p", note, box).className = "note";
  $("compare").hidden = !change;
  if (!change) return;
  element("p", change.act, box).dir = "auto";
  const kinds = [[change.split, "split"], [change.merged, "made of several"]].filter(([found]) => found.length);
  const said = kinds.map(([found, word]) => `${found.map((k) => called(state, k)).join(", ")} ${word}`);
  element("p", [`${count(change.moved, "row")} moved`, ...said].join("; ") + ".", box).id = "moved";
  const list = element("ul", undefined, box);
  list.className = "flows";
  for (const flow of change.flows) element("li", `${count(flow.rows, "row")}: ${flow.from} → ${called(state, flow.to)}`, list).dir = "auto";
  const table = element("table", undefined, box), head = element("tr", undefined, element("thead", undefined, table)), body = element("tbody", undefined, table);
  for (const text of ["", "before", "after"]) { const cell = element(text ? "th" : "td", text, head); if (text) cell.scope = "col"; }
  for (const [name, [before, after]] of [["clusters", change.n_clusters], ["objective", change.objective], ["proven gap", change.gap]]) {
    const line = element("tr", undefined, body);
    element("th", name, line).scope = "row";
    element("td", shown(before), line);
    element("td", shown(after), line);
  }
};

// ---- clusters
const strip = (value, parent) => {
  const [low, high, first, third, middle, mode] = value.at.map((at) => 2 + 96 * at), box = element("div", undefined, parent);
  element("dt", value.name, box).dir = "auto";
  element("dd", value.text, box);
  const drawn = svg("svg", { class: "strip", "aria-hidden": "true" }, element("dd", undefined, box));
  svg("rect", { class: "all", x: `${low}%`, width: `${Math.max(0, high - low)}%`, y: 7, height: 4, rx: 2 }, drawn);
  svg("rect", { class: "own", x: `${first}%`, width: `${Math.max(0.8, third - first)}%`, y: 5, height: 8, rx: 3 }, drawn);
  svg("rect", { class: "middle", x: `${middle}%`, width: 2, y: 2, height: 14 }, drawn);
  svg("circle", { class: "mode", cx: `${mode}%`, cy: 9, r: 5 }, drawn);
};
const fillCluster = (app, box, k, detail) => {
  const { state, about } = app, cluster = state.clusters[k];
  if (about.pictures) {
    const gallery = element("div", undefined, box);
    gallery.className = "gallery";
    image({ mode: k, version: state.version }, `Mode of ${called(state, k)}`, gallery);
    for (const row of detail?.typical ?? []) image({ row }, `Row ${row + 1}, near the mode`, gallery);
  }
  if (detail?.values.length) { const list = element("dl", undefined, box); list.className = "values"; detail.values.forEach((value) => strip(value, list)); }
  if (detail?.terms.length) { const list = element("ul", undefined, box); list.className = "terms"; detail.terms.forEach((term) => { element("li", term.name, list).dir = "auto"; }); }
  if (detail) element("p", `Typical: ${detail.exemplar}. ${shown(detail.density)} times as dense as the median row.`, box).className = "quiet";
  const form = element("form", undefined, box), name = element("input", undefined, form), color = element("input", undefined, form);
  Object.assign(name, { type: "text", value: cluster.name, maxLength: 80, placeholder: `Name of cluster ${k}` });
  name.setAttribute("aria-label", `Name of cluster ${k}`);
  element("button", "Rename", form).className = "small";
  Object.assign(color, { type: "color", value: cluster.color });
  color.setAttribute("aria-label", `Colour of cluster ${k}`);
  color.addEventListener("change", () => app.act({ kind: "paint", cluster: k, color: color.value }));
  form.addEventListener("submit", (event) => { event.preventDefault(); app.act({ kind: "name", cluster: k, name: name.value }); });
  const buttons = element("div", undefined, box);
  buttons.className = "row-buttons";
  button("Select its rows", buttons, async () => app.select(await app.rowsOf(k), false));
  button(cluster.hidden ? "Show" : "Hide", buttons, () => app.act({ kind: "hide", cluster: k, hidden: !cluster.hidden }));
  const parts = element("select", undefined, buttons);
  parts.setAttribute("aria-label", `Parts of cluster ${k}`);
  for (let n = 2; n <= 6; n++) element("option", `in ${n}`, parts).value = n;
  button("Split", buttons, () => app.act({ kind: "split", cluster: k, parts: Number(parts.value) }));
  const other = clusterChoice(app, buttons, "Merge with …", k);
  other.addEventListener("change", () => other.value && app.act({ kind: "merge", one: k, other: Number(other.value) }));
};
export const showClusters = async (app) => {
  const panel = $("clusters"), open = new Set([...panel.querySelectorAll("details[open]")].map((box) => Number(box.dataset.cluster))), version = app.state.version;
  const focus = document.activeElement?.closest("[data-cluster]")?.dataset.cluster, boxes = [];
  const make = (details) => {
    const { state } = app;
    panel.replaceChildren();
    state.clusters.forEach((cluster, k) => {
      const box = element("details", undefined, panel), line = element("summary", undefined, box), spot = element("span", undefined, line);
      box.className = `cluster${cluster.hidden ? " gone" : ""}`;
      box.dataset.cluster = k;
      box.style.setProperty("--own", cluster.color);
      spot.className = "spot";
      element("strong", called(state, k), line).dir = "auto";
      element("span", `${cluster.size.toLocaleString("en")} · ${((100 * cluster.size) / state.n).toFixed(cluster.size < state.n / 100 ? 1 : 0)} %`, line).className = "count";
      const words = details?.[k].words || (details?.[k].terms.length ? details[k].terms.slice(0, 5).map((term) => term.name).join(", ") : "");
      if (words) { const said = element("span", words, line); said.className = "what"; said.dir = "auto"; }
      const fill = () => { if (box.open && box.children.length === 1) fillCluster(app, box, k, details?.[k]); };
      box.addEventListener("toggle", fill);
      box.open = open.has(k);
      fill();
      boxes[k] = box;
      if (String(k) === focus) line.focus();
    });
  };
  make(app.details?.version === version ? app.details.found : null);
  if (app.details?.version === version) return;
  const found = await json("clusters", { version }).catch(() => null);
  if (!found || app.state.version !== version) return;
  app.details = { version, found };
  for (const box of panel.querySelectorAll("details[open]")) open.add(Number(box.dataset.cluster));
  if (!panel.contains(document.activeElement) || document.activeElement.tagName !== "INPUT") make(found);
};

// ---- selected rows
export const showRows = async (app, sort = { column: 0, down: false }) => {
  const panel = $("rows"), { selection, state } = app;
  $("tab-rows").textContent = selection.length ? `Selection (${selection.length.toLocaleString("en")})` : "Selection";
  if (panel.hidden) return;
  panel.replaceChildren();
  if (!selection.length) {
    element("p", "No rows are selected. Choose Select above the map and draw a line around some, or press s on the map for all rows in sight.", panel).className = "quiet";
    const buttons = element("div", undefined, panel);
    buttons.className = "row-buttons";
    button("Select all rows in sight", buttons, () => app.map.selectSeen(false));
    return;
  }
  element("p", `${count(selection.length, "row")} selected.`, panel);
  const buttons = element("div", undefined, panel), rows = Array.from(selection);
  buttons.className = "row-buttons";
  const label = clusterChoice(app, buttons, "These are …");
  label.addEventListener("change", () => label.value && app.act({ kind: "label", rows, cluster: Number(label.value) }));
  button("They belong together", buttons, () => app.act({ kind: "link", rows })).disabled = rows.length < 2;
  button("Leave them out", buttons, () => app.act({ kind: "leave_out", rows }), "danger");
  button("Take back decisions", buttons, () => app.act({ kind: "label", rows, cluster: -1 }));
  button("Export as CSV", buttons, () => app.download("rows.csv", posted("csv", { version: state.version }, selection).then((answer) => answer.blob())));
  button("Select none", buttons, () => app.select(new Uint32Array(), false));
  const answer = await posted("table", { version: state.version, sort: sort.column, down: sort.down ? 1 : 0 }, selection).catch(() => null);
  if (!answer || app.selection !== selection || app.state.version !== state.version) return;
  const found = await answer.json(), sheet = element("div", undefined, panel), table = element("table", undefined, sheet);
  Object.assign(sheet, { className: "sheet", tabIndex: 0 });
  sheet.setAttribute("role", "region");
  sheet.setAttribute("aria-label", "Selected rows");
  const head = element("tr", undefined, element("thead", undefined, table)), body = element("tbody", undefined, table);
  element("th", "row", head).scope = "col";
  found.header.forEach((text, i) => {
    const cell = element("th", undefined, head), down = sort.column === i + 1 && !sort.down;
    cell.scope = "col";
    if (sort.column === i + 1) cell.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
    button(text + (sort.column === i + 1 ? (sort.down ? " ↓" : " ↑") : ""), cell, () => showRows(app, { column: i + 1, down })).dir = "auto";
  });
  found.rows.forEach((row, i) => {
    const line = element("tr", undefined, body), first = element("th", undefined, line);
    first.scope = "row";
    if (app.about.pictures) image({ row }, `Row ${row + 1}`, first);
    else first.textContent = row + 1;
    found.cells[i].forEach((text, c) => { element("td", c === 0 && Number(text) >= 0 ? called(state, Number(text)) : c === 0 ? "left out" : text, line).dir = "auto"; });
  });
  if (found.total > found.rows.length) element("p", `The first ${found.rows.length} rows are listed; the CSV file has all.`, panel).className = "quiet";
};

// ---- rows to check
export const showCheck = async (app) => {
  const panel = $("check"), { state } = app, version = state.version;
  if (panel.hidden) return;
  const focused = panel.contains(document.activeElement);
  const list = await json("review", { version, what: app.review.what }).catch(() => null);
  if (!list || app.state.version !== version) return;
  const at = Math.max(0, Math.min(app.review.at, list.length - 1)), entry = list[at];
  const detail = entry && (await json("row", { i: entry.row, version }).catch(() => null));
  if (app.state.version !== version) return;
  panel.replaceChildren();
  const kinds = element("div", undefined, panel);
  kinds.className = "row-buttons";
  for (const [what, text] of [["uncertain", "Between clusters"], ["outliers", "Outliers"]])
    button(text, kinds, () => { app.review = { what, at: 0 }; showCheck(app); }).setAttribute("aria-pressed", String(app.review.what === what));
  if (!detail) { element("p", "There is nothing left to check.", panel); return; }
  app.map.mark(entry.row);
  element("p", `${at + 1} of ${list.length}, ${count(state.decided, "decision")} so far`, panel).className = "quiet";
  element("h3", detail.name, panel).dir = "auto";
  if (app.about.pictures) image({ row: entry.row }, detail.name, panel).className = "big";
  const shares = element("ul", undefined, panel);
  shares.className = "shares";
  for (const { cluster, share } of detail.shares) {
    const line = button("", element("li", undefined, shares), () => app.act({ kind: "label", rows: [entry.row], cluster }));
    line.style.setProperty("--own", state.clusters[cluster].color);
    element("i", undefined, line);
    element("span", called(state, cluster), line).dir = "auto";
    element("span", `${(100 * share).toFixed(share > 0 && share < 0.01 ? 2 : 0)} %`, line);
    const bar = svg("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, line);
    svg("rect", { class: "track", width: 100, height: 8 }, bar);
    svg("rect", { class: "own", width: 100 * share, height: 8 }, bar);
  }
  const buttons = element("div", undefined, panel);
  buttons.className = "row-buttons";
  const skip = button("Skip", buttons, () => { app.review.at = at + 1; showCheck(app); });
  button("Back", buttons, () => { app.review.at = Math.max(0, at - 1); showCheck(app); }).disabled = at === 0;
  button("Leave it out", buttons, () => app.act({ kind: "leave_out", rows: [entry.row] }), "danger");
  const facts = element("dl", undefined, panel);
  facts.className = "pairs facts-list";
  for (const [name, text] of detail.values) { const line = element("div", undefined, facts); element("dt", name, line).dir = "auto"; element("dd", text, line).dir = "auto"; }
  if (focused && !panel.hidden && document.activeElement === document.body) skip.focus();
};

// ---- acts
export const showActs = (app) => {
  const panel = $("acts"), { state } = app;
  panel.replaceChildren();
  if (!state.acts.length) element("p", "Nothing was done yet. Everything that you do is listed here, can be undone, and goes into the recipe.", panel).className = "quiet";
  const list = element("ol", undefined, panel);
  list.className = "acts-list";
  state.acts.forEach((text, i) => { const line = element("li", text, list); line.dir = "auto"; if (i >= state.done) line.className = "undone"; });
};
