// The map: dots by WebGL, or pictures made by the server where there are too many rows or no WebGL; marks above them.
import { CELLS, Dots, Pictures, sortIntoCells } from "./dots.js";
import { shown, ticks } from "./figure.js";
import { json, posted } from "./link.js";

const TURN = 600, MARKED = 20000;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class PlaneMap {
  // `tell` has pointed(row or -1, x, y), selected(rows, add) and moved(window).
  constructor(box, about, tell, { webgl = true } = {}) {
    Object.assign(this, { box, about, tell, view: null, modes: [], exemplars: [], clusters: [], tool: "move", path: null, near: -1, spot: null, chosen: [], choice: "cluster" });
    const canvas = () => box.appendChild(document.createElement("canvas"));
    this.below = canvas();
    this.canvas = canvas();
    this.context = this.canvas.getContext("2d");
    this.below.setAttribute("aria-hidden", "true");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    try {
      if (!about.drawn || !webgl) throw new Error("pictures");
      this.dots = new Dots(this.below, about.n);
    } catch (error) {
      const fresh = this.below.cloneNode(); // a canvas that began as one thing cannot become another
      this.below.replaceWith(fresh);
      this.below = fresh;
      this.pictures = new Pictures(this.below, () => this.soon());
    }
    this.fingers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(box);
    this.resize();
  }

  // ---- where things are
  get inset() {
    const axes = this.view && this.view.key.startsWith("columns");
    return axes ? { left: 62, right: 10, top: 10, bottom: 44 } : { left: 0, right: 0, top: 0, bottom: 0 };
  }
  get area() {
    const edge = this.inset;
    return { x: edge.left, y: edge.top, width: Math.max(10, this.size[0] - edge.left - edge.right), height: Math.max(10, this.size[1] - edge.top - edge.bottom) };
  }
  get place() {
    const space = this.area, { x, y } = this.seen, across = space.width / (x[1] - x[0]), up = space.height / (y[1] - y[0]);
    return { x: (v) => space.x + (v - x[0]) * across, y: (v) => space.y + space.height - (v - y[0]) * up,
      dataX: (v) => x[0] + (v - space.x) / across, dataY: (v) => y[0] + (space.y + space.height - v) / up, across, up };
  }
  whole() {
    const { low, high } = this.view, edge = [0, 1].map((axis) => 0.05 * (high[axis] - low[axis]));
    return { x: [low[0] - edge[0], high[0] + edge[0]], y: [low[1] - edge[1], high[1] + edge[1]] };
  }
  // A step is as long across as upwards, but where columns have units of their own.
  square(seen) {
    if (this.view.key.startsWith("columns")) return seen;
    const space = this.area, unit = Math.max((seen.x[1] - seen.x[0]) / space.width, (seen.y[1] - seen.y[0]) / space.height);
    const around = ([low, high], length) => [(low + high - length) / 2, (low + high + length) / 2];
    return { x: around(seen.x, unit * space.width), y: around(seen.y, unit * space.height) };
  }
  get zoomed() {
    const all = this.square(this.whole());
    return (all.x[1] - all.x[0]) / (this.seen.x[1] - this.seen.x[0]);
  }
  resize() {
    const { width, height } = this.box.getBoundingClientRect();
    if (!width) return;
    const kept = this.view && this.size && this.zoomed > 1.01;
    this.size = [width, height];
    this.scale = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [this.below, this.canvas]) [canvas.width, canvas.height] = this.size.map((length) => Math.round(length * this.scale));
    if (!this.view) return;
    this.seen = this.square(kept ? this.seen : this.whole());
    this.draw();
  }

  // ---- what is shown
  show(view, { calm = false } = {}) {
    const first = !this.view;
    this.view = view;
    this.cells = view.positions.length ? sortIntoCells(view.positions, view.low, view.high) : null;
    this.seen = this.square(this.whole());
    this.near = -1;
    if (!this.dots) { this.pictures.question = null; return this.soon(); }
    this.dots.place(view.positions);
    if (first || calm) { this.part = 1; return this.soon(); }
    const began = performance.now(), turn = (this.turn = (this.turn || 0) + 1);
    const frame = (now) => {
      if (turn !== this.turn) return;
      const t = Math.min(1, (now - began) / TURN);
      this.part = t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
      this.draw();
      if (t < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
  paint(colors) { if (this.dots) { this.dots.paint(colors); this.soon(); } }
  look(seen, silent) {
    this.seen = silent ? seen : this.square(seen);
    this.soon();
    if (!silent) this.tell.moved?.(this.seen);
  }
  home() { this.look(this.whole()); }
  zoom(factor, x = this.size[0] / 2, y = this.size[1] / 2) {
    const place = this.place, at = [place.dataX(x), place.dataY(y)], now = this.zoomed / factor;
    if (now < 0.5 || now > 50000) return;
    this.look({ x: this.seen.x.map((v) => at[0] + (v - at[0]) * factor), y: this.seen.y.map((v) => at[1] + (v - at[1]) * factor) });
  }
  move(dx, dy) {
    const { across, up } = this.place;
    this.look({ x: this.seen.x.map((v) => v - dx / across), y: this.seen.y.map((v) => v + dy / up) });
  }
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; if (this.view) this.draw(); });
  }
  get radius() { return Math.min(9, Math.max(1.5, Math.min(5, 0.24 * Math.sqrt((this.size[0] * this.size[1]) / (this.about.n + 1)))) * this.zoomed ** 0.35); }
  draw() {
    const { context, scale, place } = this;
    if (this.dots) {
      // The dots fill the whole canvas, so the window is widened by what lies outside of the axes.
      const full = { x: [place.dataX(0), place.dataX(this.size[0])], y: [place.dataY(this.size[1]), place.dataY(0)] };
      this.dots.draw(full, 2 * this.radius * scale, this.part ?? 1);
    } else {
      this.pictures.draw(place, this.size, scale);
      this.askPicture();
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, ...this.size);
    if (this.inset.left) this.drawAxes();
    this.drawModes();
    this.drawHand();
    this.canvas.dataset.zoom = this.zoomed.toFixed(2);
    this.canvas.dataset.view = this.view.key;
    this.canvas.style.touchAction = this.tool === "lasso" || this.zoomed > 1.01 ? "none" : "pan-y";
  }
  askPicture() {
    if (this.version === undefined) return;
    const place = this.place, [width, height] = this.size.map((length) => Math.min(2000, Math.round(length * this.scale)));
    this.pictures.ask({ view: this.view.key, version: this.version, colour: this.choice, dark: this.dark ? 1 : 0, width, height,
      left: place.dataX(0), right: place.dataX(this.size[0]), bottom: place.dataY(this.size[1]), top: place.dataY(0) });
  }
  drawAxes() {
    const { context, area, place, view } = this;
    context.fillStyle = style("--page"); // what lies outside of the axes is covered
    for (const part of [[0, 0, area.x, this.size[1]], [0, area.y + area.height, this.size[0], this.size[1]]]) context.fillRect(...part);
    context.font = "13px system-ui, sans-serif";
    context.fillStyle = style("--quiet");
    context.strokeStyle = style("--line");
    context.lineWidth = 1;
    context.strokeRect(area.x + 0.5, area.y + 0.5, area.width - 1, area.height - 1);
    context.textAlign = "center";
    for (const at of ticks(this.seen.x, Math.max(2, area.width / 110))) context.fillText(shown(at), place.x(at), area.y + area.height + 18);
    context.textAlign = "right";
    if (view.axes[1]) for (const at of ticks(this.seen.y, Math.max(2, area.height / 80))) context.fillText(shown(at), area.x - 8, place.y(at) + 4);
    context.fillStyle = style("--ink");
    context.textAlign = "center";
    context.fillText(view.axes[0], area.x + area.width / 2, this.size[1] - 6, area.width);
    context.save();
    context.translate(14, area.y + area.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(view.axes[1], 0, 0, area.height);
    context.restore();
  }
  drawModes() {
    const { context, place, clusters } = this, many = clusters.length > 30, narrow = this.size[0] < 480, r = many || narrow ? 5 : 7;
    const ink = style("--ink"), paper = style("--paper");
    context.font = `600 ${many || narrow ? 11 : 13}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.lineJoin = "round";
    if (!many) this.exemplars.forEach(([a, b], k) => { // the real rows that are nearest to the modes
      if (!clusters[k] || clusters[k].hidden || !clusters[k].size) return;
      context.beginPath();
      context.arc(place.x(a), place.y(b), r - 2, 0, 2 * Math.PI);
      context.lineWidth = 1.5;
      context.fillStyle = clusters[k].color;
      context.strokeStyle = ink;
      context.fill();
      context.stroke();
    });
    this.modes.forEach(([a, b], k) => {
      const x = place.x(a), y = place.y(b), cluster = clusters[k];
      if (!cluster || cluster.hidden || !cluster.size || !isFinite(x) || !isFinite(y)) return;
      context.beginPath();
      for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0]]) context.lineTo(x + dx, y + dy);
      context.closePath();
      context.lineWidth = 4;
      context.strokeStyle = paper;
      context.stroke();
      context.lineWidth = 1.5;
      context.strokeStyle = ink;
      context.fillStyle = cluster.color;
      context.fill();
      context.stroke();
      context.lineWidth = 4;
      context.strokeStyle = paper;
      const text = cluster.name ? cluster.name.slice(0, 28) : String(k);
      context.strokeText(text, x, y - r - 5);
      context.fillStyle = ink;
      context.fillText(text, x, y - r - 5);
    });
  }
  drawHand() {
    const { context, place } = this;
    context.fillStyle = style("--ink");
    for (const [x, y] of this.chosen) context.fillRect(place.x(x) - 1.5, place.y(y) - 1.5, 3, 3);
    if (this.spot) {
      context.lineWidth = 2;
      context.strokeStyle = style("--ink");
      context.beginPath();
      context.arc(place.x(this.spot[0]), place.y(this.spot[1]), this.radius + 4, 0, 2 * Math.PI);
      context.stroke();
    }
    if (!this.path) return;
    context.beginPath();
    for (const at of this.path) context.lineTo(...at);
    context.closePath();
    context.fillStyle = context.strokeStyle = style("--accent");
    context.globalAlpha = 0.14;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke();
  }

  // ---- rows
  async find(x, y, reach) {
    const place = this.place, at = [place.dataX(x), place.dataY(y)], far = [reach / place.across, reach / place.up];
    if (!this.cells) return (await json("near", { view: this.view.key, x: at[0], y: at[1], across: far[0], up: far[1] })).row;
    const { cells } = this, { positions } = this.view;
    const [left, right] = [-1, 1].map((sign) => cells.at(at[0] + sign * far[0], 0)), [low, high] = [-1, 1].map((sign) => cells.at(at[1] + sign * far[1], 1));
    let best = -1, least = reach * reach;
    for (let line = low; line <= high; line++) for (let i = cells.starts[line * CELLS + left]; i < cells.starts[line * CELLS + right + 1]; i++) {
      const row = cells.rows[i];
      if (this.unseen?.(row)) continue;
      const apart = ((positions[2 * row] - at[0]) * place.across) ** 2 + ((positions[2 * row + 1] - at[1]) * place.up) ** 2;
      if (apart < least) [best, least] = [row, apart];
    }
    return best;
  }
  async point(x, y, reach) {
    const row = await this.find(x, y, reach);
    if (row === this.near) return;
    this.mark(row);
    this.tell.pointed(row, x, y);
  }
  async mark(row) {
    this.near = row;
    const [spot] = row < 0 ? [null] : await this.placesOf(Uint32Array.of(row));
    if (this.near !== row) return;
    this.spot = spot;
    this.soon();
  }
  // Where rows are; the server is asked where they are too many to be held here.
  async placesOf(rows) {
    let { positions } = this.view, at = (i) => rows[i];
    if (!positions.length) {
      positions = new Float32Array(await (await posted("places", { view: this.view.key }, rows)).arrayBuffer());
      at = (i) => i;
    }
    return Array.from(rows, (_, i) => [positions[2 * at(i)], positions[2 * at(i) + 1]]);
  }
  // Selected rows have a mark of their own where the dots are a picture.
  async choose(rows) {
    this.chosen = this.dots || !rows.length ? [] : await this.placesOf(rows.slice(0, MARKED).sort());
    this.soon();
  }
  async inside(corners) {
    const place = this.place, polygon = corners.map(([x, y]) => [place.dataX(x), place.dataY(y)]);
    if (!this.cells) {
      const answer = await posted("inside", { view: this.view.key }, new Float32Array(polygon.flat()));
      return new Uint32Array(await answer.arrayBuffer());
    }
    const { positions } = this.view, found = [], [xs, ys] = [0, 1].map((axis) => polygon.map((corner) => corner[axis]));
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    for (let row = 0; row < this.about.n; row++) {
      const x = positions[2 * row], y = positions[2 * row + 1];
      if (x < left || x > right || y < low || y > high || this.unseen?.(row)) continue;
      let odd = false;
      for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++)
        if (ys[i] > y !== ys[j] > y && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) odd = !odd;
      if (odd) found.push(row);
    }
    return Uint32Array.from(found);
  }
  async selectSeen(add) {
    const space = this.area, [left, right, top, bottom] = [space.x, space.x + space.width, space.y, space.y + space.height];
    this.tell.selected(await this.inside([[left, top], [right, top], [right, bottom], [left, bottom]]), add);
  }

  // ---- hands
  listen() {
    const { canvas, fingers } = this;
    const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    let began = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 0 || !this.view) return;
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, local(event));
      const lasso = (this.tool === "lasso") !== event.shiftKey && fingers.size === 1;
      began = { at: local(event), far: false, lasso, add: event.ctrlKey || event.metaKey };
      this.path = lasso ? [local(event)] : null;
    });
    canvas.addEventListener("pointermove", (event) => {
      const here = local(event);
      if (!this.view) return;
      if (!fingers.has(event.pointerId)) return event.pointerType === "mouse" ? this.point(...here, 16) : undefined;
      const before = fingers.get(event.pointerId);
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const length = ([a, b]) => Math.max(8, Math.hypot(a - other[0], b - other[1]));
        this.path = null;
        this.zoom(length(before) / length(here), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
        this.move((here[0] - before[0]) / 2, (here[1] - before[1]) / 2);
        began.far = true;
      } else {
        began.far ||= Math.hypot(here[0] - began.at[0], here[1] - began.at[1]) > 5;
        if (began.far && this.path) { this.path.push(here); this.soon(); }
        else if (began.far && (event.pointerType === "mouse" || this.zoomed > 1.01)) this.move(here[0] - before[0], here[1] - before[1]);
      }
      fingers.set(event.pointerId, here);
    });
    const release = async (event) => {
      if (!fingers.delete(event.pointerId)) return;
      const { path } = this, here = local(event);
      this.path = null;
      this.soon();
      if (event.type === "pointercancel" || fingers.size) return;
      if (!began.far) return this.point(...here, event.pointerType === "mouse" ? 16 : 28);
      if (path && path.length > 2) this.tell.selected(await this.inside(path.length > 2000 ? path.filter((_, i) => i % 4 === 0) : path), began.add);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !fingers.size && this.near >= 0) { this.mark(-1); this.tell.pointed(-1); } });
    canvas.addEventListener("dblclick", () => this.home());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))), ...local(event));
    }, { passive: false });
    const far = () => 0.15 * this.size[0], middle = () => [this.size[0] / 2, this.size[1] / 2];
    const KEYS = {
      ArrowLeft: () => this.move(far(), 0), ArrowRight: () => this.move(-far(), 0), ArrowUp: () => this.move(0, far()), ArrowDown: () => this.move(0, -far()),
      "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1 / 0.7), 0: () => this.home(),
      Enter: () => this.point(...middle(), Math.max(...this.size)), s: () => this.selectSeen(false), S: () => this.selectSeen(true),
      x: () => this.near >= 0 && this.tell.selected(Uint32Array.of(this.near), true), Escape: () => { this.mark(-1); this.tell.pointed(-1); this.tell.selected(new Uint32Array(), false); },
    };
    canvas.addEventListener("keydown", (event) => {
      if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      KEYS[event.key]();
    });
  }

  // ---- pictures to keep
  painted() {
    this.draw();
    const whole = document.createElement("canvas"), [width, height] = [this.canvas.width, this.canvas.height];
    [whole.width, whole.height] = [width, height];
    const context = whole.getContext("2d");
    context.fillStyle = style("--paper");
    context.fillRect(0, 0, width, height);
    context.drawImage(this.below, 0, 0);
    context.drawImage(this.canvas, 0, 0);
    return whole;
  }
}
