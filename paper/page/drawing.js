// What the drawn pieces share: elements, scales with ticks, a plot that is as wide as its box, controls with labels.
// A drawing is as wide as the page has room, so that its text keeps its size.

function element(name, attributes, parent, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function made(name, attributes, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  found.append(...children);
  return found;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const unique = (values) => [...new Set(values)];

// 0.25, 1,500, 2.5 billion, 2.5×10¹⁷
function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const [unit, name] = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]].find(([unit]) => size >= unit) || [];
  if (unit && size < 1e15) return `${Number((value / unit).toPrecision(3))} ${name}`;
  if (size && (size >= 1e15 || size < 1e-3)) {
    const [digits, exponent] = value.toExponential(2).split("e");
    const raised = String(Number(exponent)).replace(/[-\d]/g, (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]);
    return Number(digits) === 1 ? `10${raised}` : `${Number(digits)}×10${raised}`;
  }
  return (size >= 1000 ? Math.round(value) : Number(value.toPrecision(4))).toLocaleString("en", { maximumFractionDigits: 12 });
}

// A function from values to pixels, with its ticks and its inverse.
function scale(low, high, from, to, logarithmic = false) {
  const way = logarithmic ? Math.log10 : (value) => value, back = logarithmic ? (value) => 10 ** value : (value) => value;
  const [first, last] = [way(low), way(high)], span = last - first || 1;
  const at = (value) => from + ((way(value) - first) / span) * (to - from);
  at.value = (place) => back(first + ((place - from) / (to - from)) * span);
  at.ticks = (most) => logarithmic ? decades(low, high, most) : steps(low, high, most);
  return at;
}

function steps(low, high, most) {
  const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * (1 - 1e-9));
  const first = Math.ceil(low / step - 1e-9), count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, number) => Number(((first + number) * step).toPrecision(12)));
}

function decades(low, high, most) {
  for (const times of [[1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const factor of times) if (factor * 10 ** power >= low * 0.999 && factor * 10 ** power <= high * 1.001) found.push(factor * 10 ** power);
    if (found.length <= most || times.length === 1) {
      const apart = Math.ceil(found.length / most);
      return found.filter((_, number) => number % apart === 0);
    }
  }
}

// Axes with a grid around a frame {left, right, top, bottom} in pixels.
function axes(svg, frame, x, y, names) {
  for (const tick of y.ticks(6)) {
    element("line", { x1: frame.left, x2: frame.right, y1: y(tick), y2: y(tick), class: "grid" }, svg);
    element("text", { x: frame.left - 6, y: y(tick) + 4, "text-anchor": "end", class: "tick" }, svg, short(tick));
  }
  for (const tick of x.ticks(Math.max(2, Math.floor((frame.right - frame.left) / 75)))) {
    element("line", { x1: x(tick), x2: x(tick), y1: frame.top, y2: frame.bottom, class: "grid" }, svg);
    element("text", { x: x(tick), y: frame.bottom + 16, "text-anchor": "middle", class: "tick" }, svg, short(tick));
  }
  element("text", { x: (frame.left + frame.right) / 2, y: frame.bottom + 34, "text-anchor": "middle" }, svg, names.x);
  element("text", { x: 0, y: frame.top - 8 }, svg, names.y);
}

// An empty picture as wide as `box`, drawn again whenever that changes.
function plot(box, height, draw) {
  let width = 0;
  const again = () => {
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    draw(svg, width, height);
    box.replaceChildren(svg);
  };
  new ResizeObserver(([entry]) => {
    const found = Math.floor(entry.contentRect.width);
    if (found && found !== width) { width = found; again(); }
  }).observe(box);
  width = Math.floor(box.clientWidth);
  again();
  return again;
}

function path(points) {
  let drawn = "", pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(y)) { pen = "M"; continue; }
    drawn += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return drawn;
}

function choice(words, options, changed) {
  const select = made("select", {});
  select.append(...options.map((option) => new Option(option, option)));
  select.addEventListener("change", changed);
  return [made("label", {}, words, " ", select), select];
}

function tick(words, checked, changed) {
  const box = made("input", { type: "checkbox" });
  box.checked = checked;
  box.addEventListener("change", changed);
  return [made("label", { class: "tick" }, box, " ", ...words), box];
}

function slider(words, low, high, step, value, changed) {
  const range = made("input", { type: "range", min: low, max: high, step });
  range.value = value;
  range.addEventListener("input", changed);
  return [made("label", {}, words, " ", range), range];
}

function tableOf(heads, rows) {
  const head = made("tr", {}, ...heads.map((words) => made("th", { scope: "col" }, words)));
  const body = rows.map(([first, ...cells]) =>
    made("tr", {}, made("th", { scope: "row" }, ...[first].flat()), ...cells.map((cell) => made("td", {}, cell))));
  return made("table", { class: "plain" }, made("thead", {}, head), made("tbody", {}, ...body));
}
