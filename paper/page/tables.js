// Of each table the file that it was made from, and of each figure what it shows, to be saved; of a long table the rows
// of single seeds, when unfolded.

function seeds(box, { heads, rows }) {
  box.replaceChildren(made("div", { class: "scroll tall", tabindex: 0, role: "group", "aria-label": "every seed" }, tableOf(heads, rows)));
}

const ABOUT = ["panel", "x_axis", "y_axis", "series"], PLACES = ["x", "x_low", "x_high", "y", "y_low", "y_high", "value", "text"];

// A row for each point, bar or cell that a figure shows.
function rowsOf({ columns, panels }) {
  const used = PLACES.filter((place) => panels.some((panel) => panel.series.some((one) => place in one)));
  const rows = panels.flatMap((panel) => panel.series.flatMap((one) => {
    const shown = used.map((place) => (place in one ? columns[one[place]] : []));
    return Array.from({ length: Math.max(...shown.map((of) => of.length)) }, (_, row) =>
      [panel.title, panel.x, panel.y, one.name, ...shown.map((of) => of[row] ?? "")]);
  }));
  return [[...ABOUT, ...used], ...rows];
}

function csv(rows) {
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}

function downloads() {
  for (const file of document.querySelectorAll("script.file")) {
    const button = made("button", { type: "button", class: "file" }, `data: ${file.dataset.name}`);
    button.addEventListener("click", () => {
      const content = JSON.parse(file.textContent), text = file.classList.contains("drawn") ? csv(rowsOf(content)) : content;
      const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      made("a", { href: address, download: file.dataset.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    file.after(button);
  }
}
