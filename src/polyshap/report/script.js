"use strict";
// Text reaches the page through textContent alone, so that names and values stay text.
const page = JSON.parse(document.getElementById("content").textContent);
const $ = (id) => document.getElementById(id);
const n = page.features.length, body = $("table").tBodies[0], FEW = 12;
const state = {output: 0, feature: 0, key: "row", down: false, start: 0, size: 10, chosen: 0, all: false, shown: []};

const output = () => page.outputs[state.output];
const value = (row, j) => output().values[row * n + j] * output().step;
const error = (row, j) => output().errors ? output().errors[row * n + j] * output().errorStep : null;
const datum = (row, j) => page.data[row * n + j];
const scale = () => output().step * 20000;

function number(x, size, sign) {
  if (x === null) return "";
  const digits = Math.min(8, Math.max(0, 3 - Math.floor(Math.log10(size || 1))));
  const text = size >= 1e-6 && size < 1e9 ? Math.abs(x).toFixed(digits) : Math.abs(x).toPrecision(4);
  return (Number(text) === 0 ? "" : x < 0 ? "\u2212" : sign ? "+" : "") + text;
}
const width = (x) => {  // of an error bar, never nought: "<0.001" is not exact
  const text = number(x, scale(), false);
  return x && Number(text) === 0 ? "<" + text.slice(0, -1) + "1" : text;
};
const prediction = (x) => number(x, Math.max(Math.abs(x), scale()), false);
const shown = (x) => x === null ? "missing" : String(x);
const display = (x) => typeof x === "number" && x < 0 ? "\u2212" + shown(-x) : shown(x);

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
function draw(parent, tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  return parent.appendChild(element);
}

const byStrength = (row) => [...page.features.keys()].sort((a, b) => Math.abs(value(row, b)) - Math.abs(value(row, a)));

// filter: "text", or conditions such as "age > 30; prediction <= 2"
const tests = {"<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
  "=": (a, b) => a === b, "!=": (a, b) => a !== b};
function condition(text) {
  const parts = /^(.+?)\s*(<=|>=|!=|<|>|=)\s*(.*)$/.exec(text);
  const name = parts && parts[1].trim().toLowerCase();
  const j = parts ? page.features.findIndex((feature) => feature.toLowerCase() === name) : -1;
  let read = null;
  if (j >= 0) read = (row) => datum(row, j);
  else if (name === "prediction") read = (row) => output().prediction[row];
  else if (name === "row") read = (row) => page.rows[row];
  if (!read) {
    const wanted = text.toLowerCase();
    return (row) => page.rows[row].toLowerCase().includes(wanted) ||
      page.features.some((_, i) => shown(datum(row, i)).toLowerCase().includes(wanted));
  }
  const limit = parts[3].trim(), numeric = limit !== "" && !isNaN(limit);
  return (row) => {
    const found = read(row);
    if (numeric && found !== null && !isNaN(found)) return tests[parts[2]](Number(found), Number(limit));
    return tests[parts[2]](shown(found).toLowerCase(), limit.toLowerCase());
  };
}

const keys = {
  row: (row) => row,
  prediction: (row) => output().prediction[row],
  datum: (row) => datum(row, state.feature),
  value: (row) => value(row, state.feature),
  error: (row) => error(row, state.feature),
};
function compare(a, b) {  // missing last, numbers before text
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), undefined, {numeric: true});
  return a - b;
}

function search() {
  const conditions = $("filter").value.split(";").map((part) => part.trim()).filter(Boolean).map(condition);
  const key = keys[state.key], sign = state.down ? -1 : 1;
  state.shown = [...page.rows.keys()].filter((row) => conditions.every((test) => test(row)));
  state.shown.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    return (x === null || y === null ? compare(x, y) : sign * compare(x, y)) || a - b;
  });
  state.start = 0;
  list();
}

function list() {
  const rows = state.shown.slice(state.start, state.start + state.size), j = state.feature;
  body.replaceChildren(...rows.map(line));
  for (const header of $("table").tHead.querySelectorAll("th")) {
    const button = header.querySelector("button");
    if (button && button.dataset.key === state.key) header.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else header.removeAttribute("aria-sort");
  }
  $("table").classList.toggle("plain", !output().errors);
  $("table").tHead.querySelector(".name").textContent = page.short[j];
  $("table").tHead.querySelector(".name").title = page.features[j];
  $("status").textContent = `${state.shown.length} of ${page.rows.length} rows match.`;
  const pages = Math.max(1, Math.ceil(state.shown.length / state.size));
  $("page").textContent = `Page ${state.start / state.size + 1} of ${pages}`;
  $("previous").disabled = state.start === 0;
  $("next").disabled = state.start + state.size >= state.shown.length;
}

function line(row) {
  const tr = make("tr"), j = state.feature, head = make("th"), button = make("button", page.rows[row]);
  tr.dataset.row = row;
  head.scope = "row";
  button.type = "button";
  head.append(button);
  if (row === state.chosen) tr.setAttribute("aria-current", "true");
  const strongest = byStrength(row).slice(0, 3).map((i) => `${page.short[i]} ${number(value(row, i), scale(), true)}`);
  tr.append(head, make("td", prediction(output().prediction[row]), "number"), make("td", display(datum(row, j)), "number datum"),
    make("td", number(value(row, j), scale(), true), "number"), make("td", width(error(row, j)), "number error"),
    make("td", strongest.join(", "), "strongest"));
  return tr;
}

function choose(row) {
  state.chosen = row;
  for (const tr of body.rows) tr.toggleAttribute("aria-current", Number(tr.dataset.row) === row);
  for (const tr of body.querySelectorAll("[aria-current]")) tr.setAttribute("aria-current", "true");
  detail();
}

function detail() {
  const row = state.chosen, order = byStrength(row), few = state.all ? order : order.slice(0, FEW);
  const base = output().base[row], end = output().prediction[row], steps = few.map((j) => [j, value(row, j), error(row, j)]);
  const rest = end - base - steps.reduce((sum, step) => sum + step[1], 0);
  if (few.length < n) steps.push([-1, rest, null]);
  let [low, high, at] = [Math.min(base, end), Math.max(base, end), base];
  for (const [, length, wide] of steps) {
    at += length;
    low = Math.min(low, at - (wide || 0));
    high = Math.max(high, at + (wide || 0));
  }
  const x = (level) => high > low ? 100 * (level - low) / (high - low) : 50;
  const lines = [total("base value", base, x(base), true)];
  at = base;
  for (const [j, length, wide] of steps) {
    lines.push(bar(row, j, at, length, wide, x, end));
    at += length;
  }
  lines.push(total("prediction", end, x(end), false));
  $("waterfall").replaceChildren(...lines);
  $("detail-title").textContent = `Row ${page.rows[row]}` + (output().name ? `, ${output().name}` : "");
  $("detail-lead").textContent = `From the base value ${prediction(base)} to the prediction ${prediction(end)}.`;
  $("all").hidden = n <= FEW;
  $("all").textContent = state.all ? `Show the strongest ${FEW}` : `Show all ${n} features`;
}

function canvas(tr, text) {
  const cell = make("td", undefined, "plot"), svg = draw(cell, "svg", {viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true"});
  tr.append(cell, text);
  return svg;
}
function total(name, level, x, top) {
  const tr = make("tr", undefined, "total"), head = make("th", name);
  head.scope = "row";
  tr.append(head);
  const svg = canvas(tr, make("td", prediction(level)));
  draw(svg, "path", {class: "whisker", d: `M${x} ${top ? 4 : 0}V${top ? 20 : 16}`});
  return tr;
}
function bar(row, j, from, length, wide, x, end) {
  const tr = make("tr"), head = make("th"), label = make("div", undefined, "label"), cell = make("td", number(length, scale(), true));
  head.scope = "row";
  label.append(make("span", j < 0 ? `${n - FEW} others` : page.short[j]));
  if (j >= 0) {
    label.append(" ", make("span", display(datum(row, j)), "datum"));
    head.title = `${page.features[j]} = ${shown(datum(row, j))}`;
  }
  head.append(label);
  if (wide !== null) cell.append(" ", make("span", `\u00b1${width(wide)}`, "error"));
  tr.append(head);
  const svg = canvas(tr, cell), [a, b] = [x(from), x(from + length)];
  draw(svg, "path", {class: "guide", d: `M${x(end)} 0V20`});
  draw(svg, "rect", {class: length < 0 ? "down" : "up", x: Math.min(a, b), y: 3.5, width: Math.max(Math.abs(b - a), 0.2), height: 13});
  draw(svg, "path", {class: "join", d: `M${a} 0V3.5M${b} 16.5V20`});
  if (wide) {
    const [left, right] = [x(from + length - wide), x(from + length + wide)];
    draw(svg, "path", {class: "whisker", d: `M${left} 10H${right}M${left} 6V14M${right} 6V14`});
  }
  return tr;
}

function strongestFeature() {
  const sums = page.features.map((_, j) => page.rows.reduce((sum, _row, row) => sum + Math.abs(value(row, j)), 0));
  return sums.indexOf(Math.max(...sums));
}

$("table").tHead.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  state.down = button.dataset.key === state.key ? !state.down : button.dataset.key !== "row";
  state.key = button.dataset.key;
  search();
});
body.addEventListener("click", (event) => {
  const tr = event.target.closest("tr");
  if (tr) choose(Number(tr.dataset.row));
});
body.addEventListener("keydown", (event) => {
  const step = {ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling"}[event.key];
  const next = step && event.target.closest("tr")[step];
  if (!next) return;
  event.preventDefault();
  next.querySelector("button").focus();
  choose(Number(next.dataset.row));
});
$("filter").addEventListener("input", search);
$("controls").addEventListener("submit", (event) => event.preventDefault());
$("feature").addEventListener("change", () => { state.feature = Number($("feature").value); search(); });
$("size").addEventListener("change", () => { state.size = Number($("size").value); search(); });
$("previous").addEventListener("click", () => { state.start -= state.size; list(); });
$("next").addEventListener("click", () => { state.start += state.size; list(); });
$("all").addEventListener("click", () => { state.all = !state.all; detail(); });
if ($("output")) $("output").addEventListener("change", () => {
  state.output = Number($("output").value);
  for (const table of document.querySelectorAll("table[data-output]")) table.hidden = table.dataset.output !== $("output").value;
  search();
  detail();
});

$("feature").append(...page.features.map((name, j) => { const option = make("option", name); option.value = j; return option; }));
state.feature = strongestFeature();
$("feature").value = state.feature;
function example() {
  const row = Math.max(0, page.rows.findIndex((_, i) => datum(i, state.feature) !== null)), given = datum(row, state.feature);
  const sign = typeof given === "number" ? ">=" : "=";
  return `${page.features[state.feature]} ${sign} ${shown(given)}; prediction <= ${prediction(output().prediction[row]).replace("\u2212", "-")}`;
}
$("example").textContent = example();
search();
detail();
