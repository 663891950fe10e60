(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("map-chart"), plane = chart.querySelector(".plane"), canvas = plane.querySelector("canvas");
  const context = canvas.getContext("2d"), tip = plane.querySelector(".tip"), legend = document.getElementById("legend");
  const select = document.getElementById("colour"), calm = matchMedia("(prefers-reduced-motion: reduce)");

  // ---- the data -------------------------------------------------------------------------------------------------
  const index = data.wide ? words : bytes;
  const first = index(data.first), second = index(data.second), weight = bytes(data.weight);
  const density = bytes(data.density), entropy = bytes(data.entropy), n = first.length;
  const rows = data.rows ? new Uint32Array(bytes(data.rows).buffer) : null;
  const views = data.views.map((view) => {
    const along = (text, axis) => Float64Array.from(words(text), (step) => view.low[axis] + (step / 65535) * view.span[axis]);
    return { ...view, x: along(view.x, 0), y: along(view.y, 1), free: view.name === "columns" };
  });
  const columns = data.columns.map((column) => ({ ...column, codes: column.kind === "many" ? words(column.codes) : bytes(column.codes) }));
  const terms = data.terms && { names: data.terms.names, table: words(data.terms.table) };
  const pixels = data.pictures && bytes(data.pictures.pixels);
  const called = (k) => data.called[k] || `cluster ${k}`;
  const rowName = (i) => (data.names ? data.names[i] : `row ${((rows ? rows[i] : i) + 1).toLocaleString("en")}`);
  // Dots are drawn in a mixed order, the same each time, so that no cluster covers another.
  const order = mixedOrder(n);

  // ---- colours --------------------------------------------------------------------------------------------------
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const own = data.colors.map(parts);
  const steps = () => ramp(dark());
  const graded = (shares) => {
    const colors = steps();
    return (i) => (isNaN(shares(i)) ? style("--track") : colors[Math.round(32 * Math.min(1, Math.max(0, shares(i))))]);
  };
  const quantile = (column, share) => {
    const sorted = column.sorted || (column.sorted = Float64Array.from({ length: n }, (_, i) => value(column, i)).filter((v) => !isNaN(v)).sort());
    return sorted[Math.round(share * (sorted.length - 1))];
  };
  const numeric = (column) => column.kind === "many" || (column.kind === "few" && column.values.length > 8);
  const choices = {
    cluster: { title: "cluster", paint: () => (i) => data.colors[first[i]], clusters: true },
    soft: { title: "shares (mixed between clusters)", clusters: true,
      paint: () => (i) => rgb(between(own[second[i]], own[first[i]], weight[i] / 255)) },
    density: { title: "density (how crowded)", paint: () => graded((i) => density[i] / 255), ends: ["alone", "crowded"] },
    entropy: { title: "uncertainty", paint: () => graded((i) => entropy[i] / 255), ends: ["certain", "even"] },
  };
  columns.forEach((column, c) => {
    const choice = { title: column.name, group: column.used ? "Columns used" : "Columns not used" };
    if (numeric(column)) {
      // The median has the colour in the middle, so that a few large values do not make all others look alike.
      const [low, middle, high] = [0.02, 0.5, 0.98].map((share) => quantile(column, share));
      choice.paint = () => graded((i) => {
        const v = value(column, i);
        return v < middle ? 0.5 - (0.5 * (middle - v)) / (middle - low || 1) : 0.5 + (0.5 * (v - middle)) / (high - middle || 1);
      });
      choice.ends = [`${shown(low)} or less`, `${shown(middle)} median`, `${shown(high)} or more`];
    } else {
      const colors = column.values.length <= data.few.length ? data.few : data.many;
      const limit = column.values.length > colors.length ? colors.length - 1 : column.values.length;
      choice.paint = () => { const rest = style("--track"); return (i) => (column.codes[i] < limit ? colors[column.codes[i]] : rest); };
      choice.items = column.values.slice(0, limit).map((text, c) => [shown(text), colors[c]]);
      if (limit < column.values.length) choice.items.push(["other", null]);
    }
    choices[`column-${c}`] = choice;
  });

  // ---- the map --------------------------------------------------------------------------------------------------
  const state = { view: 0, choice: "cluster", window: null, chosen: null, near: -1, box: null };
  let paint = null, size = [0, 0], moving = 0;
  const inset = () => (views[state.view].free ? { left: 64, right: 14, top: 14, bottom: 50 } : { left: 6, right: 6, top: 6, bottom: 6 });
  const area = () => {
    const edge = inset();
    return { x: edge.left, y: edge.top, width: Math.max(10, size[0] - edge.left - edge.right), height: Math.max(10, size[1] - edge.top - edge.bottom) };
  };
  const whole = (view) => {
    const all = [0, 1].map((axis) => {
      const places = view.modes.map((mode) => mode[axis]).filter(isFinite);
      const low = Math.min(view.low[axis], ...places), high = Math.max(view.low[axis] + view.span[axis], ...places), edge = 0.05 * (high - low);
      return [low - edge, high + edge];
    });
    return { x: all[0], y: all[1] };
  };
  // Where both axes have one unit, a step is as long across as upwards; where they have none, nearly so.
  const square = (seen) => {
    const view = views[state.view];
    if (view.free) return seen;
    const space = area(), all = whole(view), stretch = view.name === "neighbours" ? 1.5 : 1;
    const ratio = (all.x[1] - all.x[0]) / space.width / ((all.y[1] - all.y[0]) / space.height), upward = Math.min(stretch, Math.max(1 / stretch, ratio));
    const unit = Math.max((seen.x[1] - seen.x[0]) / space.width, ((seen.y[1] - seen.y[0]) / space.height) * upward);
    const around = ([low, high], length) => [(low + high - length) / 2, (low + high + length) / 2];
    return { x: around(seen.x, unit * space.width), y: around(seen.y, (unit / upward) * space.height) };
  };
  const placer = () => {
    const space = area(), { x, y } = state.window;
    const across = space.width / (x[1] - x[0]), up = space.height / (y[1] - y[0]);
    return { x: (v) => space.x + (v - x[0]) * across, y: (v) => space.y + space.height - (v - y[0]) * up,
      dataX: (v) => x[0] + (v - space.x) / across, dataY: (v) => y[0] + (space.y + space.height - v) / up };
  };
  const placed = () => {
    const view = views[state.view], place = placer();
    return { x: Float32Array.from(view.x, place.x), y: Float32Array.from(view.y, place.y),
      modes: view.modes.map(([a, b]) => [place.x(a), place.y(b)]) };
  };
  const zoomed = () => {
    const all = square(whole(views[state.view]));
    return (all.x[1] - all.x[0]) / (state.window.x[1] - state.window.x[0]);
  };
  const drawAxes = () => {
    const view = views[state.view], space = area(), place = placer();
    context.font = "13px system-ui, sans-serif";
    context.fillStyle = style("--quiet");
    context.strokeStyle = style("--line");
    context.lineWidth = 1;
    const line = (a, b, c, d) => { context.beginPath(); context.moveTo(a, b); context.lineTo(c, d); context.stroke(); };
    context.textAlign = "center";
    for (const at of ticks(state.window.x, Math.max(2, space.width / 110))) {
      line(place.x(at), space.y, place.x(at), space.y + space.height);
      context.fillText(shown(at), place.x(at), space.y + space.height + 18);
    }
    context.textAlign = "right";
    if (view.axes[1]) for (const at of ticks(state.window.y, Math.max(2, space.height / 80))) {
      line(space.x, place.y(at), space.x + space.width, place.y(at));
      context.fillText(shown(at), space.x - 8, place.y(at) + 4);
    }
    context.fillStyle = style("--ink");
    context.textAlign = "center";
    context.fillText(view.axes[0], space.x + space.width / 2, size[1] - 10, space.width);
    context.save();
    context.translate(15, space.y + space.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(view.axes[1], 0, 0, space.height);
    context.restore();
  };
  const radius = () => Math.min(9, Math.max(1.4, Math.min(5, 0.22 * Math.sqrt((size[0] * size[1]) / (n + 1)))) * zoomed() ** 0.35);
  const drawDots = (at) => {
    const r = radius(), faint = state.chosen === null ? null : style("--track"), [width, height] = size, round = n <= 8000;
    const dot = (i) => {
      const x = at.x[i], y = at.y[i];
      if (x < -r || y < -r || x > width + r || y > height + r) return;
      if (!round) return context.fillRect(x - r, y - r, 2 * r, 2 * r);
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fill();
    };
    context.globalAlpha = n > 2000 ? 0.75 : 0.85;
    for (const i of order) {
      if (faint !== null && first[i] === state.chosen) continue;
      context.fillStyle = faint || paint(i);
      dot(i);
    }
    if (faint !== null) for (const i of order) if (first[i] === state.chosen) { context.fillStyle = paint(i); dot(i); }
    context.globalAlpha = 1;
  };
  const drawModes = (at) => {
    const many = data.colors.length > 30 || size[0] < 480, r = many ? 5 : 8, ink = style("--ink"), paper = style("--paper");
    context.font = `600 ${many ? 11 : 14}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.lineJoin = "round";
    at.modes.forEach(([x, y], k) => {
      if (!isFinite(x) || !isFinite(y) || (state.chosen !== null && state.chosen !== k)) return;
      context.beginPath();
      for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0]]) context.lineTo(x + dx, y + dy);
      context.closePath();
      context.lineWidth = 4;
      context.strokeStyle = paper;
      context.stroke();
      context.lineWidth = 1.5;
      context.strokeStyle = ink;
      context.fillStyle = data.colors[k];
      context.fill();
      context.stroke();
      context.lineWidth = 4;
      context.strokeStyle = paper;
      context.strokeText(k, x, y - r - 4);
      context.fillStyle = ink;
      context.fillText(k, x, y - r - 4);
    });
  };
  const draw = (at = placed()) => {
    const scale = window.devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, ...size);
    if (views[state.view].free) drawAxes();
    context.save();
    const space = area();
    context.beginPath();
    context.rect(space.x - 4, space.y - 4, space.width + 8, space.height + 8);
    context.clip();
    drawDots(at);
    drawModes(at);
    if (state.near >= 0) {
      context.lineWidth = 2;
      context.strokeStyle = style("--ink");
      context.beginPath();
      context.arc(at.x[state.near], at.y[state.near], radius() + 3, 0, 2 * Math.PI);
      context.stroke();
    }
    context.restore();
    if (state.box) {
      const [a, b, c, d] = state.box;
      context.fillStyle = style("--accent");
      context.globalAlpha = 0.15;
      context.fillRect(a, b, c - a, d - b);
      context.globalAlpha = 1;
      context.strokeStyle = style("--accent");
      context.strokeRect(a, b, c - a, d - b);
    }
    canvas.dataset.points = n;
    canvas.dataset.zoom = zoomed().toFixed(2);
    canvas.style.touchAction = zoomed() > 1.01 ? "none" : "pan-y";
  };
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const show = (seen) => {
    state.window = square(seen);
    hide();
    soon();
  };
  const home = () => show(whole(views[state.view]));
  const zoom = (factor, x = size[0] / 2, y = size[1] / 2) => {
    const place = placer(), at = { x: place.dataX(x), y: place.dataY(y) }, now = zoomed() / factor;
    if (now < 0.5 || now > 5000) return;
    show({ x: state.window.x.map((v) => at.x + (v - at.x) * factor), y: state.window.y.map((v) => at.y + (v - at.y) * factor) });
  };
  const move = (dx, dy) => {
    const space = area(), { x, y } = state.window, across = (dx * (x[1] - x[0])) / space.width, up = (dy * (y[1] - y[0])) / space.height;
    show({ x: x.map((v) => v - across), y: y.map((v) => v + up) });
  };
  const change = (view) => {
    const from = placed(), hurry = calm.matches || n > 8000;
    state.view = view;
    for (const text of chart.querySelectorAll("[data-view]")) text.hidden = Number(text.dataset.view) !== view;
    state.window = square(whole(views[view]));
    hide();
    if (hurry) return soon();
    const to = placed(), began = performance.now(), turn = ++moving;
    const mix = (a, b, share) => a + (b - a) * share;
    const frame = (now) => {
      if (turn !== moving) return;
      const part = Math.min(1, (now - began) / 700), share = part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) ** 2;
      if (part === 1) return draw();
      draw({ x: from.x.map((v, i) => mix(v, to.x[i], share)), y: from.y.map((v, i) => mix(v, to.y[i], share)),
        modes: from.modes.map(([a, b], k) => [mix(a, to.modes[k][0], share), mix(b, to.modes[k][1], share)]) });
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  };

  // ---- what a row is --------------------------------------------------------------------------------------------
  const pair = (list, name, text) => {
    const line = element("div", undefined, list);
    element("dt", name, line).dir = "auto";
    element("dd", text, line).dir = "auto";
  };
  const thumbnail = (i) => {
    const { width, height } = data.pictures, small = element("canvas", undefined, tip);
    [small.width, small.height] = [width, height];
    const image = small.getContext("2d").createImageData(width, height);
    for (let at = 0; at < width * height; at++) image.data.set([0, 0, 0].fill(pixels[i * width * height + at]).concat(255), 4 * at);
    small.getContext("2d").putImageData(image, 0, 0);
  };
  const describe = (i) => {
    tip.replaceChildren();
    element("strong", rowName(i), tip).dir = "auto";
    if (data.texts && data.texts.values[i]) element("div", data.texts.values[i], tip).dir = "auto";
    const share = Math.round((100 * weight[i]) / 255);
    element("div", called(first[i]) + (share < 100 ? `, ${share} %; ${called(second[i])}, ${100 - share} %` : ""), tip).dir = "auto";
    if (pixels) return thumbnail(i);
    const list = element("dl", undefined, tip);
    list.className = "pairs";
    if (terms) {
      const found = Array.from(terms.table.subarray(6 * i, 6 * i + 6)).filter(Boolean).map((code) => terms.names[code - 1]);
      pair(list, "mostly", found.join(", ") || "nothing");
    } else for (const c of data.telling[first[i]] || []) pair(list, columns[c].name, shown(value(columns[c], i)));
    for (const column of columns) if (!column.used) pair(list, column.name, shown(value(column, i)));
  };
  const hide = () => {
    if (tip.hidden && state.near < 0) return;
    tip.hidden = true;
    state.near = -1;
    soon();
  };
  const tell = (x, y, reach) => {
    const at = placed();
    let best = -1, least = reach * reach;
    for (let i = 0; i < n; i++) {
      const distance = (at.x[i] - x) ** 2 + (at.y[i] - y) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    if (best < 0) return hide();
    if (best !== state.near) {
      state.near = best;
      describe(best);
      tip.hidden = false;
      soon();
    }
    const [left, top] = [at.x[best], at.y[best]], width = tip.offsetWidth, height = tip.offsetHeight;
    tip.classList.toggle("high", top > size[1] / 2);
    tip.style.left = `${Math.max(6, left + 16 + width > size[0] ? left - 16 - width : left + 16)}px`;
    tip.style.top = `${Math.max(6, Math.min(top - height / 2, size[1] - height - 6))}px`;
  };

  // ---- hands ----------------------------------------------------------------------------------------------------
  const fingers = new Map();
  let began = null;
  const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, local(event));
    began = { at: local(event), last: local(event), far: false, box: event.pointerType === "mouse" && !event.shiftKey };
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = local(event);
    if (!fingers.has(event.pointerId)) return event.pointerType === "mouse" ? tell(...here, 18) : undefined;
    const before = fingers.get(event.pointerId);
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const length = ([a, b]) => Math.max(8, Math.hypot(a - other[0], b - other[1]));
      zoom(length(before) / length(here), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
      move((here[0] - before[0]) / 2, (here[1] - before[1]) / 2);
      began.far = true;
    } else {
      began.far ||= Math.hypot(here[0] - began.at[0], here[1] - began.at[1]) > 6;
      if (began.far && began.box) { state.box = [...began.at, ...here]; hide(); soon(); }
      else if (began.far && (event.pointerType === "mouse" || zoomed() > 1.01)) move(here[0] - before[0], here[1] - before[1]);
    }
    fingers.set(event.pointerId, here);
  });
  const release = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const here = local(event), box = state.box;
    state.box = null;
    if (event.type === "pointercancel" || fingers.size) return soon();
    if (!began.far) return tell(...here, event.pointerType === "mouse" ? 18 : 28);
    if (!box || Math.abs(box[2] - box[0]) < 8 || Math.abs(box[3] - box[1]) < 8) return soon();
    const place = placer(), sorted = (a, b) => [Math.min(a, b), Math.max(a, b)];
    show({ x: sorted(place.dataX(box[0]), place.dataX(box[2])), y: sorted(place.dataY(box[1]), place.dataY(box[3])) });
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !fingers.size) hide(); });
  canvas.addEventListener("dblclick", home);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 150))), ...local(event));
  }, { passive: false });
  const KEYS = {
    ArrowLeft: () => move(0.15 * size[0], 0), ArrowRight: () => move(-0.15 * size[0], 0), ArrowUp: () => move(0, 0.15 * size[1]),
    ArrowDown: () => move(0, -0.15 * size[1]), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), 0: home, Escape: hide,
    Enter: () => tell(size[0] / 2, size[1] / 2, Infinity),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  canvas.addEventListener("blur", hide);
  const BUTTONS = { in: () => zoom(0.7), out: () => zoom(1 / 0.7), all: home };
  for (const button of chart.querySelectorAll("[data-zoom]")) button.addEventListener("click", BUTTONS[button.dataset.zoom]);
  for (const input of chart.querySelectorAll('input[name="view"]')) input.addEventListener("change", () => change(Number(input.value)));
  document.getElementById("hint").textContent = matchMedia("(pointer: coarse)").matches
    ? "Touch a dot to see the row. Two fingers zoom; once zoomed in, one finger moves the map."
    : "Point at a dot to see the row. Drag a box to zoom in, hold Shift to move, double-click for the whole map; Ctrl and the wheel zoom too.";

  // ---- the choice of colours ------------------------------------------------------------------------------------
  const fillChoices = () => {
    const groups = {};
    for (const [key, choice] of Object.entries(choices)) {
      let parent = select;
      if (choice.group) {
        if (!groups[choice.group]) (groups[choice.group] = element("optgroup", undefined, select)).label = choice.group;
        parent = groups[choice.group];
      }
      element("option", choice.title, parent).value = key;
    }
  };
  const swatch = (parent, color) => { element("i", undefined, parent).style.background = color; };
  const fillLegend = () => {
    const choice = choices[state.choice];
    legend.replaceChildren();
    if (choice.ends) {
      const scale = element("div", undefined, legend), ends = element("div");
      scale.className = "scale";
      element("i", undefined, scale).style.background = `linear-gradient(to right, ${steps().join(",")})`;
      for (const end of choice.ends) element("span", end, ends);
      scale.append(ends);
    } else if (choice.clusters) data.colors.forEach((color, k) => {
      const button = element("button", undefined, legend);
      button.type = "button";
      swatch(button, color);
      element("span", called(k), button).dir = "auto";
      button.setAttribute("aria-pressed", String(state.chosen === k));
      button.title = `${data.sizes[k].toLocaleString("en")} rows; press to see it alone`;
      button.addEventListener("click", () => { state.chosen = state.chosen === k ? null : k; fillLegend(); legend.children[k].focus(); soon(); });
    });
    else choice.items.forEach(([text, color]) => {
      const item = element("span", undefined, legend);
      item.className = "item";
      swatch(item, color || style("--track"));
      element("span", text, item).dir = "auto";
    });
  };
  const colour = () => {
    state.choice = select.value;
    if (!choices[state.choice].clusters) state.chosen = null;
    paint = choices[state.choice].paint();
    fillLegend();
    soon();
  };
  select.addEventListener("change", colour);

  // ---- light and dark -------------------------------------------------------------------------------------------
  const button = document.getElementById("theme");
  const themed = () => {
    button.textContent = dark() ? "Light" : "Dark";
    colour();
  };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; themed(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { delete root.dataset.theme; themed(); });
  button.hidden = false;

  document.getElementById("no-script").hidden = true;
  chart.hidden = false;
  fillChoices();
  new ResizeObserver(() => {
    const box = plane.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    if (!box.width) return;
    const kept = state.window && zoomed() > 1.01;
    size = [box.width, box.height];
    [canvas.width, canvas.height] = size.map((length) => Math.round(length * scale));
    state.window = square(kept ? state.window : whole(views[state.view]));
    draw();
  }).observe(plane);
  size = [plane.clientWidth, plane.clientHeight];
  [canvas.width, canvas.height] = size.map((length) => Math.round(length * (window.devicePixelRatio || 1)));
  state.window = square(whole(views[0]));
  themed();
})();
