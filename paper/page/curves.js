// Learning curves of chosen models on one text, against steps, tokens, operations or seconds.

const UNITS = { steps: "training steps", tokens: "tokens trained on", operations: "counted operations (FLOPs)", seconds: "seconds of training" };
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 3", "4 2 1 2", "1 2", "10 2 4 2", "6 2 2 2 2 2", "3 5"];

function curves(box, texts) {
  const controls = made("form", {}), models = made("fieldset", { class: "chips" }, made("legend", {}, "models"));
  const picture = made("div", { class: "plot" }), table = made("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "losses at the mark" });
  const [textLabel, text] = choice("text, scale", texts.map((one) => one.text), fill);
  const [unitLabel, unit] = choice("against", [], update);
  const [lossLabel, loss] = choice("loss", [], update);
  const [logLabel, logarithmic] = tick(["logarithmic"], true, update);
  const [markLabel, mark] = slider("mark", 0, 200, 1, 200, update);
  controls.append(textLabel, lossLabel, unitLabel, logLabel, markLabel);
  controls.addEventListener("submit", (event) => event.preventDefault());
  box.append(controls, models, picture, table);
  let checks = [], draw = null, shared = 1;  // shared: how far along the axis all chosen curves reach

  const series = () => texts[text.selectedIndex].series;
  const chosen = () => series().filter((_, number) => checks[number].checked);
  const ink = (one) => one.colour === "#000000" ? "currentColor" : one.colour;

  // Keeps what was chosen before, where the text has it.
  function refill(select, options) {
    const before = select.value;
    select.replaceChildren(...options.map((option) => new Option(option, option)));
    if (options.includes(before)) select.value = before;
  }

  function fill() {
    refill(loss, unique(series().flatMap((one) => Object.keys(one.losses))));
    refill(unit, Object.keys(UNITS).filter((name) => series().every((one) => name in one.per)));
    const labelled = series().map((one) => tick([swatch(one), ` ${one.name}`], one.shown, update));
    checks = labelled.map(([, check]) => check);
    models.replaceChildren(models.firstElementChild, ...labelled.map(([label]) => label));
    mark.value = mark.max;
    update();
    mark.value = Math.floor(mark.max * shared);  // not past the end of a chosen curve
    update();
  }

  function swatch(one) {
    const svg = element("svg", { width: 22, height: 8, "aria-hidden": "true" });
    element("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: ink(one), "stroke-width": 2.5, "stroke-dasharray": DASHES[one.dash % DASHES.length] }, svg);
    return svg;
  }

  // A model's curves: its places in the chosen unit, the losses of each seed, and their mean where all are known.
  function read(one) {
    const { steps: at, seeds } = one.losses[loss.value], losses = Object.values(seeds);
    const known = at.map((_, number) => losses.map((of) => of[number]).filter((value) => value !== null));
    return {
      ...one, losses, x: at.map((step) => step * one.per[unit.value]),
      mean: known.map((values) => (values.length === losses.length ? mean(values) : NaN)),
    };
  }

  function bounds(read) {
    const x = read.flatMap((one) => one.x), y = read.flatMap((one) => one.losses.flat()).filter((value) => value !== null);
    const least = Math.min(...y);
    return { x: [Math.min(...x), Math.max(...x)], y: [least * 0.97, Math.min(Math.max(...y), 2.5 * least) * 1.03] };
  }

  function update() {
    if (draw) draw(); else draw = plot(picture, 420, paint);
  }

  function paint(svg, width, height) {
    const shown = chosen().map(read), frame = { left: 44, right: width - 12, top: 24, bottom: height - 44 };
    svg.setAttribute("aria-label", shown.length ? `${loss.value} loss against ${UNITS[unit.value]}: ${shown.map((one) => one.name).join(", ")}` : "no model is chosen");
    table.replaceChildren();
    if (!shown.length) return element("text", { x: 10, y: 40 }, svg, "Choose a model.");
    const limits = bounds(shown);
    const x = scale(...limits.x, frame.left, frame.right, logarithmic.checked), y = scale(...limits.y, frame.bottom, frame.top);
    axes(svg, frame, x, y, { x: UNITS[unit.value], y: `${loss.value} loss (nats per token)` });
    const line = (of, one, name) => element("path", { d: path(one.x.map((at, number) => [x(at), of[number] === null || of[number] > limits.y[1] ? NaN : y(of[number])])), class: name, stroke: ink(one), "stroke-dasharray": DASHES[one.dash % DASHES.length] }, svg);
    for (const one of shown) for (const of of one.losses) line(of, one, "seed");
    for (const one of shown) line(one.mean, one, "mean");
    const place = frame.left + (mark.value / mark.max) * (frame.right - frame.left);
    element("line", { x1: place, x2: place, y1: frame.top, y2: frame.bottom, class: "mark" }, svg);
    shared = (Math.min(...shown.map((one) => x(one.x.at(-1)))) - frame.left) / (frame.right - frame.left);
    list(shown, x, place);
  }

  // The mean loss of each model at the mark, on the straight line between two points of the drawing.
  function list(shown, x, place) {
    const at = x.value(place), said = `${short(at)} ${unit.value}`;
    const rows = shown.map((one) => [one, between(one.x.map(x), one.mean, place)]).sort(([, a], [, b]) => (a ?? Infinity) - (b ?? Infinity));
    mark.setAttribute("aria-valuetext", said);
    table.replaceChildren(tableOf(["model", `mean loss at ${said}`, "seeds", "last point"], rows.map(([one, value]) => [
      [swatch(one), ` ${one.name}`], value === null ? "outside its curve" : value.toFixed(3), String(one.losses.length),
      `${one.mean.at(-1).toFixed(3)} after ${short(one.x.at(-1))} ${unit.value}`,
    ])));
  }

  fill();
}

// The value at `place` of a line through (places, values), null outside.
function between(places, values, place) {
  const next = places.findIndex((one) => one >= place - 1e-6);
  if (next < 0 || (next === 0 && places[0] > place + 1e-6)) return null;
  if (next === 0 || Math.abs(places[next] - place) < 1e-6) return values[next];
  const share = (place - places[next - 1]) / (places[next] - places[next - 1]);
  return values[next - 1] + share * (values[next] - values[next - 1]);
}
