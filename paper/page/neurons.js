// First-layer neurons by their energy in a window and in a constant; of the chosen one all that was measured.

function neurons(box, { colours, recent, texts }) {
  const controls = made("form", {}), both = made("div", { class: "beside wide" }), left = made("div", {}), picture = made("div", { class: "plot", tabindex: 0, role: "slider", "aria-label": "chosen neuron" });
  const detail = made("div", { class: "detail", "aria-live": "polite" });
  const [textLabel, text] = choice("text, scale", texts.map((one) => one.text), fill);
  const [seedLabel, seed] = choice("seed", [], refresh);
  const [momentLabel, moment] = choice("at", ["end", "half", "start"], update);
  const [neuronLabel, neuron] = choice("neuron", [], update);
  controls.append(textLabel, seedLabel, momentLabel, neuronLabel);
  controls.addEventListener("submit", (event) => event.preventDefault());
  left.append(picture, made("p", { class: "note" }, "Large dots: neurons with a weight map, in the colour of their class at the end. Rings: neurons with keywords. Grey line: a window and a constant explain everything; cross: random weights. The thin line leads the chosen neuron from the start to the end of training. Arrow keys go from neuron to neuron: left and right along the window's energy, up and down along the constant's."));
  both.append(left, detail);
  box.append(controls, both);
  let draw = null;

  const run = () => texts[text.selectedIndex].runs[seed.selectedIndex];
  const chosen = () => Number(neuron.value);
  const at = () => ["start", "half", "end"].indexOf(moment.value);

  function fill() {
    seed.replaceChildren(...texts[text.selectedIndex].runs.map((one) => new Option(one.seed, one.seed)));
    refresh();
  }

  function refresh() {
    const { window: share, maps, keywords } = run();
    const there = share[2].map((_, i) => i).filter((i) => share.some((of) => of[i] !== null));
    neuron.replaceChildren(...there.map((i) => new Option(`${i}${i in maps ? `, ${maps[i].class}, map` : ""}${i in keywords ? ", keywords" : ""}`, i)));
    neuron.value = Object.keys(maps)[0] || there[0];
    update();
  }

  picture.addEventListener("keydown", (event) => {
    const [shares, by] = { ArrowRight: [run().window, 1], ArrowLeft: [run().window, -1], ArrowUp: [run().constant, 1], ArrowDown: [run().constant, -1] }[event.key] || [];
    if (!shares) return;
    event.preventDefault();
    const order = shares[at()].map((_, i) => i).filter((i) => shares[at()][i] !== null).sort((a, b) => shares[at()][a] - shares[at()][b] || a - b);
    neuron.value = order[Math.min(order.length - 1, Math.max(0, order.indexOf(chosen()) + by))];
    update();
  });

  function update() {
    if (draw) draw(); else draw = plot(picture, 400, paint);
    describe();
  }

  function paint(svg, width, height) {
    const { window: shares, constant, maps, keywords } = run(), { context } = texts[text.selectedIndex], now = at();
    const frame = { left: 44, right: width - 12, top: 24, bottom: height - 44 };
    const x = scale(0, 1, frame.left, frame.right), y = scale(0, 1, frame.bottom, frame.top);
    svg.setAttribute("aria-label", `${shares[now].filter((of) => of !== null).length} neurons, ${moment.value} of training`);
    axes(svg, frame, x, y, { x: `energy of the last ${recent} rows (window)`, y: "energy of one constant before them" });
    element("line", { x1: x(0), y1: y(1), x2: x(1), y2: y(0), class: "diagonal" }, svg);
    const [cx, cy] = [x(recent / context), y(1 / context)];
    element("path", { d: `M${cx - 5} ${cy - 5}l10 10m0 -10l-10 10`, class: "chance" }, svg);
    const order = shares[now].map((_, i) => i).sort((a, b) => (a in maps) - (b in maps));
    for (const i of order) {
      if (shares[now][i] === null) continue;
      const dot = element("circle", { cx: x(shares[now][i]), cy: y(constant[now][i]), r: i in maps ? 6 : 3.5, class: "neuron", fill: i in maps ? colours[maps[i].class] : "var(--edge)" }, svg);
      element("title", {}, dot, `neuron ${i}`);
      if (i in keywords) element("circle", { cx: x(shares[now][i]), cy: y(constant[now][i]), r: 9, class: "ring" }, svg);
      dot.addEventListener("click", () => { neuron.value = i; update(); });
    }
    const i = chosen(), course = shares.map((of, step) => [x(of[i]), y(constant[step][i])]);
    element("path", { d: path(course), class: "course" }, svg);
    course.forEach(([px, py], step) => element("circle", { cx: px, cy: py, r: step === now ? 12 : 3, class: "chosen" }, svg));
    Object.keys(colours).filter((name) => Object.values(maps).some((one) => one.class === name)).forEach((name, line) => {
      element("circle", { cx: frame.right - 96, cy: frame.top + 12 + 17 * line, r: 6, fill: colours[name] }, svg);
      element("text", { x: frame.right - 84, y: frame.top + 16 + 17 * line }, svg, name);
    });
  }

  function describe() {
    const { window: shares, constant, maps, keywords } = run(), i = chosen(), { steps, context } = texts[text.selectedIndex];
    for (const [key, value] of Object.entries({ "aria-valuemin": 0, "aria-valuemax": shares[2].length - 1, "aria-valuenow": i, "aria-valuetext": `neuron ${i}` })) picture.setAttribute(key, value);
    const course = tableOf(["course", "step", "window", "constant"], ["start", "half", "end"].map((name, step) => [name, short(steps[step]), share(shares[step][i]), share(constant[step][i])]));
    const parts = [made("p", {}, made("strong", {}, `Neuron ${i}`), i in maps ? `, ${maps[i].class}` : ""), course];
    if (i in maps) {
      const now = maps[i].weights[at()] ? at() : 2, weights = maps[i].weights[now], largest = maps[i].largest[now];
      if (now !== at()) parts.push(made("p", { class: "note" }, `The map is of the end: at the ${moment.value} none was measured of this text. Texts "over training" have them.`));
      const when = `${["start", "half", "end"][now]} of training${largest === null ? "" : `, largest ${short(largest)}`}`;
      parts.push(heatMap(`over time, last token at the bottom; ${when}`, weights), heatMap("over frequencies of the orthonormal DCT-II, 0 at the top", frequencies(weights)));
    } else parts.push(made("p", { class: "note" }, `No weight map of this neuron: maps are measured of ${Object.keys(maps).join(", ")} (large dots) of this seed, at the end. Every neuron of the text “over training” has one.`));
    if (i in keywords) parts.push(made("p", { class: "note" }, `The tokens nearest to its vector, as one of the six clearest neurons of a class; ▁ is a blank, ‹byte› a part of a letter. Coherence: −1 never together, 0 independent, 1 only together.`),
      tableOf(["clearest of", "nearest by", "tokens", "coherence"], keywords[i].map((one) => [one.class, one.nearness, one.keywords, one.coherence === null ? "–" : short(one.coherence)])));
    else parts.push(made("p", { class: "note" }, "No keywords: they are measured of the six clearest neurons of two classes."));
    detail.replaceChildren(...parts);
  }

  const share = (of) => (of === null ? "–" : `${(100 * of).toFixed(1)} %`);

  // A weight map (T rows, coordinates): red above zero, blue below, white at zero.
  function heatMap(words, rows) {
    const most = Math.max(...rows.flat().map(Math.abs)) || 1, across = rows[0].length, size = 8, tall = 11;
    const svg = element("svg", { viewBox: `0 0 ${across * size} ${rows.length * tall}`, role: "img", "aria-label": `weights ${words}`, class: "map" });
    rows.forEach((row, y) => row.forEach((value, x) => {
      const part = Math.abs(value) / most, [r, g, b] = value > 0 ? [178, 24, 43] : [33, 102, 172];
      element("rect", { x: x * size, y: y * tall, width: size, height: tall, fill: `rgb(${[r, g, b].map((of) => Math.round(255 - part * (255 - of)))})` }, svg);
    }));
    return made("figure", { class: "heat" }, made("figcaption", {}, `Weights ${words}`), svg);
  }

  fill();
}

// The orthonormal DCT-II over rows, (T, coordinates) -> (T frequencies, coordinates).
function frequencies(rows) {
  const T = rows.length;
  return rows.map((_, k) => rows[0].map((_, d) => rows.reduce((sum, row, t) => sum + row[d] * Math.cos((Math.PI * (2 * t + 1) * k) / (2 * T)), 0) * Math.sqrt((k ? 2 : 1) / T)));
}
