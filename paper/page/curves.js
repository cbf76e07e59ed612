// Learning curves of chosen models on one text, against steps, tokens, operations or seconds.

const UNITS = { steps: "training steps", tokens: "tokens trained on", operations: "counted operations (FLOPs)", seconds: "seconds of training" };
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 3", "4 2 1 2", "1 2", "10 2 4 2", "6 2 2 2 2 2", "3 5"];

function curves(box, texts) {
  const controls = made("form", {}), models = made("fieldset", { class: "chips" }, made("legend", {}, "models"));
  const picture = made("div", { class: "plot" }), table = made("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "losses at the mark" });
  const own = ownCurve(update), restart = () => { budget = null; update(); };
  const [textLabel, text] = choice("text, scale", texts.map((one) => one.text), fill);
  const [unitLabel, unit] = choice("against", [], restart);
  const [lossLabel, loss] = choice("loss", [], restart);
  const [logLabel, logarithmic] = tick(["logarithmic"], true, update);
  const [markLabel, mark] = slider("mark", 0, 200, 1, 200, () => { budget = NaN; update(); });
  controls.append(textLabel, lossLabel, unitLabel, logLabel, markLabel);
  controls.addEventListener("submit", (event) => event.preventDefault());
  box.append(controls, models, picture, table, own.form);
  let checks = [], draw = null, budget = null;  // where the mark is, in the chosen unit; null: where it starts

  const series = () => texts[text.selectedIndex].series;
  const chosen = () => [...series().filter((_, number) => checks[number].checked), ...own.curve(loss.value, unit.value)];
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
    update();
  }

  // The largest budget that all curves shown at first reach, of all texts: the mark starts there on each of them.
  function common() {
    const shown = texts.flatMap((one) => one.series).filter((one) => one.shown && unit.value in one.per && loss.value in one.losses);
    return Math.min(...shown.map((one) => one.losses[loss.value].steps.at(-1) * one.per[unit.value]));
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
    if (Number.isNaN(budget)) budget = x.value(frame.left + (mark.value / mark.max) * (frame.right - frame.left));  // it was moved
    else {
      budget = Math.min(limits.x[1], Math.max(limits.x[0], budget ?? common()));
      mark.value = Math.floor((mark.max * (x(budget) - frame.left)) / (frame.right - frame.left));
    }
    const place = x(budget);
    element("line", { x1: place, x2: place, y1: frame.top, y2: frame.bottom, class: "mark" }, svg);
    list(shown, x, place);
  }

  // The mean loss of each model at the mark, on the straight line between two points of the drawing.
  function list(shown, x, place) {
    const said = `${short(budget)} ${unit.value}`;
    const rows = shown.map((one) => [one, between(one.x.map(x), one.mean, place)]).sort(([, a], [, b]) => (a ?? Infinity) - (b ?? Infinity));
    mark.setAttribute("aria-valuetext", said);
    table.replaceChildren(tableOf(["model", `mean loss at ${said}`, "seeds", "last point"], rows.map(([one, value]) => [
      [swatch(one), ` ${one.name}`], value === null ? "outside its curve" : value.toFixed(3), String(one.losses.length),
      `${one.mean.at(-1).toFixed(3)} after ${short(one.x.at(-1))} ${unit.value}`,
    ])));
  }

  fill();
}

// A reader's own curve, from a file or pasted, beside ours. Nothing leaves the page.
function ownCurve(changed) {
  const form = made("form", {}), said = made("output", { "aria-live": "polite" });
  const area = made("textarea", { rows: 4, cols: 28, placeholder: "step,loss\n100,5.21\n200,4.87" });
  const file = made("input", { type: "file", accept: ".csv,.tsv,.txt,text/*" }), tokens = made("input", { type: "number", min: 1, step: "any" });
  const clear = made("button", { type: "reset" }, "take it out");
  form.append(made("label", {}, "your losses (CSV of step, loss) ", area), made("label", {}, "or a file ", file), made("label", {}, "tokens a step, if known ", tokens), clear, said);
  let points = [];

  function reread() {
    const { points: found, skipped } = readLosses(area.value);
    points = found;
    said.textContent = !area.value.trim() ? "" : `${points.length} points drawn as “yours”, in nats per token${skipped ? `; ${skipped} lines left out, without a step above 0 and a loss` : ""}.`;
    changed();
  }

  area.addEventListener("input", reread);
  tokens.addEventListener("input", changed);
  file.addEventListener("change", async () => { if (file.files[0]) { area.value = await file.files[0].text(); reread(); } });
  form.addEventListener("reset", () => setTimeout(reread));
  form.addEventListener("submit", (event) => event.preventDefault());

  // [the series], or [] where there is none or the unit is not known of it.
  const curve = (loss, unit) => {
    const per = { steps: 1, tokens: Number(tokens.value) || undefined }[unit];
    if (!points.length || !per) return [];
    const [steps, losses] = [0, 1].map((column) => points.map((point) => point[column]));
    return [{ name: "yours", colour: "var(--flag)", dash: 0, per: { [unit]: per }, losses: { [loss]: { steps, seeds: { yours: losses } } } }];
  };
  const details = made("details", {}, made("summary", {}, "put your own losses beside them"), made("p", { class: "note" }, "Stays in this page: nothing is sent. Losses compare if they are held-out losses in nats per token of the same text by the same tokenizer. Seconds and operations of your run are not known, so choose steps, or tokens."), form);
  return { form: details, curve };
}

// Points (step, loss) of a table with commas, semicolons, tabs or blanks, in the columns named so or in the first two.
function readLosses(text) {
  const between = [";", "\t", ","].find((sign) => text.includes(sign)) || /\s+/;
  const lines = text.split(/\r?\n/).filter((line) => line.trim()).map((line) => line.trim().split(between).map((word) => word.trim()));
  const head = (lines[0] || []).map((word) => word.replace(/"/g, "").toLowerCase());
  const named = head.includes("step") && head.includes("loss"), columns = named ? ["step", "loss"].map((name) => head.indexOf(name)) : [0, 1];
  const found = new Map(), rows = head.some((word) => /^[+-]?[.\d]/.test(word)) ? lines : lines.slice(1);
  let skipped = 0;
  for (const row of rows) {
    const [step, loss] = columns.map((column) => (row[column] ? Number(row[column]) : NaN));
    if (step > 0 && Number.isFinite(step) && Number.isFinite(loss)) found.set(step, loss); else skipped++;
  }
  return { points: [...found].sort(([one], [other]) => one - other), skipped };
}

// The value at `place` of a line through (places, values), null outside.
function between(places, values, place) {
  const next = places.findIndex((one) => one >= place - 1e-6);
  if (next < 0 || (next === 0 && places[0] > place + 1e-6)) return null;
  if (next === 0 || Math.abs(places[next] - place) < 1e-6) return values[next];
  const share = (place - places[next - 1]) / (places[next] - places[next - 1]);
  return values[next - 1] + share * (values[next] - values[next - 1]);
}
