// What lies below the marks of a map: dots by WebGL, or pictures made by the server; and rows sorted into cells.
import { mixedOrder } from "./figure.js";
import { binary } from "./link.js";

const VERTEX = `#version 300 es
in vec2 from; in vec2 to; in vec4 color; uniform vec4 seen; uniform float part; uniform float size; out vec4 shade; out float wide;
void main() {
  vec2 at = mix(from, to, part);
  gl_Position = color.a == 0.0 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4((at - seen.xy) * seen.zw * 2.0 - 1.0, 0.0, 1.0);
  gl_PointSize = size; shade = color; wide = size;
}`;
const FRAGMENT = `#version 300 es
precision highp float; in vec4 shade; in float wide; out vec4 pixel;
void main() {
  float edge = clamp((0.5 - length(gl_PointCoord - 0.5)) * wide, 0.0, 1.0);
  if (edge <= 0.0) discard;
  pixel = vec4(shade.rgb, 1.0) * shade.a * edge;
}`;
export const CELLS = 256;

export class Dots {
  constructor(canvas, n) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("no WebGL");
    const shader = (kind, text) => {
      const made = gl.createShader(kind);
      gl.shaderSource(made, text);
      gl.compileShader(made);
      return made;
    };
    const program = gl.createProgram();
    gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error("no WebGL");
    gl.useProgram(program);
    this.gl = gl;
    this.order = mixedOrder(n);
    this.places = { seen: gl.getUniformLocation(program, "seen"), part: gl.getUniformLocation(program, "part"), size: gl.getUniformLocation(program, "size") };
    this.buffers = Object.fromEntries(["from", "to", "color"].map((name) => {
      const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(at);
      if (name === "color") gl.vertexAttribPointer(at, 4, gl.UNSIGNED_BYTE, true, 0, 0);
      else gl.vertexAttribPointer(at, 2, gl.FLOAT, false, 0, 0);
      return [name, buffer];
    }));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }
  fill(name, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.DYNAMIC_DRAW);
  }
  place(positions) {
    const mixed = new Float32Array(positions.length);
    this.order.forEach((row, i) => { mixed[2 * i] = positions[2 * row]; mixed[2 * i + 1] = positions[2 * row + 1]; });
    this.fill("from", this.last || mixed);
    this.fill("to", mixed);
    this.last = mixed;
  }
  paint(colors) {
    const packed = new Uint32Array(colors.buffer), mixed = new Uint32Array(packed.length);
    this.order.forEach((row, i) => { mixed[i] = packed[row]; });
    this.fill("color", new Uint8Array(mixed.buffer));
  }
  draw(seen, size, part) {
    const { gl, places } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform4f(places.seen, seen.x[0], seen.y[0], 1 / (seen.x[1] - seen.x[0]), 1 / (seen.y[1] - seen.y[0]));
    gl.uniform1f(places.part, part);
    gl.uniform1f(places.size, size);
    gl.drawArrays(gl.POINTS, 0, this.order.length);
  }
}

// Pictures of the server, laid where they belong; the newest question waits for the one under way.
export class Pictures {
  constructor(canvas, redraw) {
    Object.assign(this, { context: canvas.getContext("2d"), redraw, image: null, question: null, waiting: null, painted: null });
  }
  ask(question) {
    const key = JSON.stringify(question);
    if (key === this.question) return;
    this.question = key;
    this.waiting = question;
    if (!this.busy) this.next();
  }
  async next() {
    this.busy = true;
    while (this.waiting) {
      const question = this.waiting;
      this.waiting = null;
      try {
        const { buffer, about } = await binary("raster", question);
        const image = new ImageData(new Uint8ClampedArray(buffer), about.width, about.height);
        this.image = { picture: await createImageBitmap(image), window: about.window };
        this.redraw();
      } catch (error) { this.question = null; }
    }
    this.busy = false;
  }
  draw(place, [width, height], scale) {
    const { context, image } = this;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!image) return;
    const [left, right, bottom, top] = image.window;
    context.imageSmoothingEnabled = true;
    context.drawImage(image.picture, place.x(left), place.y(top), place.x(right) - place.x(left), place.y(bottom) - place.y(top));
  }
}

// Rows by cells of a grid, to find those near a place.
export const sortIntoCells = (positions, low, high) => {
  const n = positions.length / 2, cell = new Uint32Array(n), starts = new Uint32Array(CELLS * CELLS + 1), rows = new Uint32Array(n);
  const at = (v, axis) => Math.min(CELLS - 1, Math.max(0, Math.floor(((v - low[axis]) / (high[axis] - low[axis])) * CELLS)));
  for (let i = 0; i < n; i++) starts[1 + (cell[i] = at(positions[2 * i + 1], 1) * CELLS + at(positions[2 * i], 0))]++;
  for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  for (let i = 0; i < n; i++) rows[next[cell[i]]++] = i;
  return { at, starts, rows };
};
