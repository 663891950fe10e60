// What the maps of the report and of the explorer share: packed columns, numbers as text, colours, ticks, elements.
// The explorer imports it; the report, which is one file, holds it without the word export.
"use strict";
export const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
export const words = (text) => new Uint16Array(bytes(text).buffer);
export const value = (column, i) => {
  const code = column.codes[i];
  if (column.kind !== "many") return column.values[code];
  if (code === 65535) return NaN;
  const at = code >> 8, low = column.values[at];
  return low + (column.values[at + 1] - low) * ((code & 255) / 254);
};
const raised = (power) => String(power).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
export const shown = (number) => {
  if (typeof number !== "number") return number;
  if (!isFinite(number)) return "no value";
  const size = Math.abs(number);
  if (size < 1e9 && (size >= 1e4 || Number.isInteger(number))) return Math.round(number).toLocaleString("en").replace("-", "−");
  if (size >= 1e9 || size < 1e-4) {
    const [head, tail] = number.toExponential(3).split("e");
    return `${Number(head)} × 10${raised(Number(tail))}`.replace("-", "−");
  }
  return Number(number.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 12 }).replace("-", "−");
};
// The numbers below n in a mixed order, the same each time.
export const mixedOrder = (n) => {
  const all = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1, seed = 1; i > 0; i--) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    const j = Math.floor((seed / 2147483648) * (i + 1)), kept = all[i];
    all[i] = all[j];
    all[j] = kept;
  }
  return all;
};
export const parts = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
export const rgb = (mixed) => `rgb(${mixed.map(Math.round).join(",")})`;
export const between = (a, b, share) => a.map((part, c) => part + share * (b[c] - part));
// Blue to yellow, which colour-blind eyes tell apart; both ends stand out from the page.
const SCALES = { light: ["#00306f", "#7d7c78", "#d8a200"].map(parts), dark: ["#5f87c4", "#a5a08a", "#ffe94e"].map(parts) };
const onScale = (share, [low, middle, high]) => (share < 0.5 ? between(low, middle, 2 * share) : between(middle, high, 2 * share - 1));
export const ramp = (dark) => Array.from({ length: 33 }, (_, i) => rgb(onScale(i / 32, SCALES[dark ? "dark" : "light"])));
export const ticks = ([low, high], most) => {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step);
  return found.map((v) => Number(v.toPrecision(12)));
};
export const element = (tag, text, parent) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
