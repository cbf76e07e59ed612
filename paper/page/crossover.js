function crossover() {
  const box = document.getElementById("skills");
  if (!box) return;
  const rows = JSON.parse(document.getElementById("skills-data").textContent).map((row) => ({
    ...row, skill: Number(row.skill_1), operations: Number(row.flops_per_token), learnt: row.learnt === "True",
  }));
  const tasks = unique(rows.map((row) => row.task)), columns = unique(rows.map((row) => row.column));
  const of = (task, column) => rows.filter((row) => row.task === task && row.column === column);
  const kept = new Set(tasks), low = -0.25, right = 300, line = 17;
  const left = () => (order.value === "operations" ? 172 : 118);  // room for names, and for operations beside them
  const x = (skill) => left() + ((Math.max(low, Math.min(1, skill)) - low) / (1 - low)) * (right - left() - 8);
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 2 });  // 240K, 5.9M
  const order = box.querySelector("select"), panels = box.querySelector(".panels"), said = box.querySelector("output");

  // series: column -> its skills by seed, and is the skill surely above zero?
  function panel(title, series, shown, operations) {
    const listed = shown.filter((column) => series.has(column));
    if (order.value === "operations") listed.sort((one, other) => operations(one) - operations(other));
    const height = listed.length * line + 36;
    const words = listed.map((column) => `${column} ${mean(series.get(column).skills).toFixed(2)}`).join(", ");
    const svg = element("svg", { viewBox: `0 0 ${right} ${height}`, role: "img", "aria-label": `${title}: mean skill of ${words}` });
    for (const tick of [0, 0.5, 1]) {
      element("line", { x1: x(tick), x2: x(tick), y1: 0, y2: height - 30, class: "grid" }, svg);
      element("text", { x: x(tick), y: height - 17, "text-anchor": "middle", class: "tick" }, svg, String(tick));
    }
    element("text", { x: x(0.5), y: height - 4, "text-anchor": "middle", class: "tick" }, svg, "skill");
    if (order.value === "operations") element("text", { x: left() - 10, y: height - 4, "text-anchor": "end", class: "tick" }, svg, "operations per token");
    if (series.has("attention"))
      element("line", { x1: x(mean(series.get("attention").skills)), x2: x(mean(series.get("attention").skills)), y1: 0, y2: height - 30, class: "reference" }, svg);
    listed.forEach((column, place) => {
      const y = place * line + 10, { skills, learnt } = series.get(column);
      const group = element("g", { class: `${learnt ? "learnt" : "dull"} ${column === "attention" ? "of-attention" : ""}` }, svg);
      element("text", { x: 0, y: y + 4 }, group, column);
      if (order.value === "operations") element("text", { x: left() - 10, y: y + 4, "text-anchor": "end", class: "tick" }, group, compact.format(operations(column)));
      for (const skill of skills) {
        const dot = skill >= low ? element("circle", { cx: x(skill), cy: y, r: 3 }, group)
          : element("path", { d: `M${x(low)} ${y} l6 -4 v8 z` }, group);  // it lies beyond the axis
        element("title", {}, dot, `${column}: ${skill.toFixed(3)}`);
      }
      element("line", { x1: x(mean(skills)), x2: x(mean(skills)), y1: y - 6, y2: y + 6, class: "mean" }, group);
    });
    return svg;
  }

  function update() {
    const many = columns.filter((column) => tasks.filter((task) => of(task, column).length).length > 1);
    const common = tasks.filter((task) => kept.has(task) && many.every((column) => of(task, column).length));
    const together = new Map(many.map((column) => {
      const seeds = unique(common.flatMap((task) => of(task, column).map((row) => row.seed)));
      const skills = seeds.map((seed) => mean(common.map((task) => of(task, column).find((row) => row.seed === seed).skill)));
      return [column, { skills, learnt: true }];
    }));
    const operations = (column) => mean(tasks.filter((task) => kept.has(task)).flatMap((task) => of(task, column).map((row) => row.operations)));
    const by = {
      "mean skill": (column) => -(common.length && together.has(column) ? mean(together.get(column).skills) : -1),
      operations: (column) => operations(column) || Infinity,
      family: (column) => columns.indexOf(column),
    }[order.value];
    const shown = [...columns].sort((one, other) => by(one) - by(other));
    box.querySelectorAll("figure").forEach((figure) => {
      const task = figure.dataset.task;
      figure.querySelector("svg")?.remove();
      figure.classList.toggle("left-out", !!task && !kept.has(task));
      if (task && !kept.has(task)) return;
      const series = task ? new Map(columns.filter((column) => of(task, column).length).map((column) =>
        [column, { skills: of(task, column).map((row) => row.skill), learnt: of(task, column)[0].learnt }])) : together;
      const spent = task ? (column) => mean(of(task, column).map((row) => row.operations)) : operations;
      if (task || common.length) figure.append(panel(task || "mean over the common tasks", series, shown, spent));
    });
    said.textContent = common.length ? `Mean over ${common.length} common tasks: ${common.join(", ")}.` : "No task that all families can do is left.";
  }

  for (const task of ["", ...tasks]) {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    figure.dataset.task = task;
    if (task) {
      const label = document.createElement("label"), check = document.createElement("input");
      check.type = "checkbox";
      check.checked = true;
      check.addEventListener("change", () => { kept[check.checked ? "add" : "delete"](task); update(); });
      label.append(check, ` ${task}`);
      caption.append(label);
    } else caption.textContent = "mean over the common tasks";
    figure.append(caption);
    panels.append(figure);
  }
  order.addEventListener("change", update);
  box.hidden = false;
  update();
}
