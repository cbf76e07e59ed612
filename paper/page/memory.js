// Memory of one forward and backward pass over one sequence, in float32 and without the head, in closed form: equal to
// the byte to what allmlp.studies.mixers.measures.memory counts on the models; a test compares both.
// cache: the rows (keys and values, or inputs) that generation keeps of T tokens.
// d: width, n: layers, T: context, V: vocabulary; attention has 16 heads, as in the paper.

const HEADS = 16;
const MEMORY = {
  "flat mixer": ({ d, n, T, V }) => ({
    parameters: 4 * (V * d + n * (8 * d * d + 9 * d + T * T + T)),
    buffers: 4 * T,
    kept: 4 * n * T * (12 * d + 4) + 8 * T,
    cache: 4 * n * T * d,
  }),
  "transformer": (size) => ({ ...attention(size), kept: 4 * size.n * (size.T ** 2 * (HEADS + 1 / 4) + size.T * (size.d * (28 + 2 / HEADS) + 2)) + size.T * (8 * size.d + 12) }),
  "transformer, fused attention": (size) => ({ ...attention(size), kept: 4 * size.n * size.T * (size.d * (29 + 2 / HEADS) + 2 + HEADS) + size.T * (8 * size.d + 12) }),
};

const attention = ({ d, n, T, V }) => ({ parameters: 4 * (V * d + d + n * (16 * d * d + 2 * d)), buffers: (8 * n * T * d) / HEADS, cache: 8 * n * T * d });

function memoryOf(model, size) {
  const found = MEMORY[model](size);
  return { ...found, total: 2 * found.parameters + found.buffers + found.kept };
}

function memory(box, { vocabulary, width: measuredWidth, rows, colours }) {
  const controls = made("form", {}), picture = made("div", { class: "plot" }), table = made("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "memory at the chosen context" });
  const [widthLabel, width] = choice("width", [64, 128, 256, 512, 1024, 2048, 4096], update);
  const [depthLabel, depth] = choice("layers", [1, 2, 4, 8, 16, 32, 64], update);
  const [contextLabel, context] = slider("context", 4, 17, 0.25, 9, update);
  controls.append(widthLabel, depthLabel, contextLabel);
  controls.addEventListener("submit", (event) => event.preventDefault());
  const models = Object.keys(MEMORY), checks = models.map((name) => tick([swatch(name), ` ${name}`], true, update));
  box.append(controls, made("fieldset", { class: "chips" }, made("legend", {}, "models"), ...checks.map(([label]) => label)), picture, table);
  width.value = measuredWidth;
  depth.value = 8;
  let draw = null;

  const GB = 1e9, dash = (name) => (name.includes("fused") ? "4 3" : "");
  const sizeAt = (T) => ({ d: Number(width.value), n: Number(depth.value), T, V: vocabulary });
  const tokens = () => Math.round(2 ** Number(context.value));
  const shown = () => models.filter((_, number) => checks[number][1].checked);

  function swatch(name) {
    const svg = element("svg", { width: 22, height: 8, "aria-hidden": "true" });
    element("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: colours[name], "stroke-width": 2.5, "stroke-dasharray": name.includes("fused") ? "4 3" : "" }, svg);
    return svg;
  }

  function update() {
    if (draw) draw(); else draw = plot(picture, 380, paint);
    list();
  }

  function paint(svg, across, height) {
    const frame = { left: 62, right: across - 14, top: 24, bottom: height - 44 }, names = shown();
    const places = Array.from({ length: 14 * 4 - 3 }, (_, number) => 2 ** (4 + number / 4));
    const read = names.map((name) => places.map((T) => memoryOf(name, sizeAt(T)).total / GB));
    svg.setAttribute("aria-label", names.length ? `memory against context: ${names.join(", ")}` : "no model is chosen");
    if (!names.length) return element("text", { x: 10, y: 40 }, svg, "Choose a model.");
    const x = scale(places[0], places.at(-1), frame.left, frame.right, true), y = scale(Math.min(...read.flat()), Math.max(...read.flat()), frame.bottom, frame.top, true);
    x.ticks = (most) => places.filter((_, number) => number % 4 === 0).filter((_, number) => number % Math.ceil(14 / most) === 0);
    axes(svg, frame, x, y, { x: "context (tokens)", y: "memory (GB)" });
    read.forEach((values, number) => element("path", { d: path(values.map((value, place) => [x(places[place]), y(value)])), class: "mean", stroke: colours[names[number]], "stroke-dasharray": dash(names[number]) }, svg));
    for (const row of rows.filter((row) => row.n_blocks === Number(depth.value) && measuredWidth === Number(width.value) && names.includes(row.model)))
      element("circle", { cx: x(row.context), cy: y(row.total_bytes / GB), r: 4, class: "counted", stroke: colours[row.model] }, svg);
    element("line", { x1: x(tokens()), x2: x(tokens()), y1: frame.top, y2: frame.bottom, class: "mark" }, svg);
  }

  function list() {
    const T = tokens(), base = memoryOf("flat mixer", sizeAt(T)).total, inGB = (bytes) => `${short(Number((bytes / GB).toPrecision(3)))} GB`;
    context.setAttribute("aria-valuetext", `${short(T)} tokens`);
    table.replaceChildren(tableOf([`at ${short(T)} tokens`, "weights", "weights and gradients", "kept for the backward pass", "together", "cache of generation", "together over the flat mixer"], shown().map((name) => {
      const found = memoryOf(name, sizeAt(T));
      return [[swatch(name), ` ${name}`], short(found.parameters / 4), inGB(2 * found.parameters), inGB(found.kept), inGB(found.total), inGB(found.cache), found.total === base ? "the same" : `${short(Number((found.total / base).toPrecision(3)))} times`];
    })));
  }

  update();
}
