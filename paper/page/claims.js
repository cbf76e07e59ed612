function claims() {
  const form = document.getElementById("filter"), body = document.querySelector("#all-claims tbody");
  if (!form) return; // a report of one's own has no table of all claims
  const heads = [...document.querySelectorAll("#all-claims thead th")], rows = [...body.rows];
  const selects = [...form.querySelectorAll("select")];
  let sorted = null;

  const values = (row, name) => row.dataset[name].split("|");
  for (const select of selects)
    for (const value of [...new Set(rows.flatMap((row) => values(row, select.name)))].filter(Boolean))
      select.add(new Option(value, value));

  function keep() {
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) asked.set(name, value);
    if (sorted) asked.set("sort", sorted);
    history.replaceState(null, "", asked.size ? `#claims?${asked}` : location.hash.startsWith("#claims?") ? "#claims" : location.href);
  }

  function filter() {
    const words = form.q.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const fits = selects.every((select) => !select.value || values(row, select.name).includes(select.value));
      const text = row.textContent.toLowerCase();
      row.hidden = !(fits && words.every((word) => text.includes(word)));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = shown ? `${shown} of ${rows.length} claims` : "no claim fits: choose less, or clear";
  }

  function sort(name) {
    sorted = name;
    const [column, way] = (name || "").split(" "), place = heads.findIndex((head) => head.dataset.name === column);
    heads.forEach((head, number) => head.setAttribute("aria-sort", number === place ? way : "none"));
    const order = place < 0 ? rows : [...rows].sort((one, other) => {
      const [a, b] = [one, other].map((row) => row.cells[place].textContent.trim());
      const found = a.localeCompare(b, "en", { numeric: true });
      return way === "descending" ? -found : found;
    });
    if (order.some((row, number) => row !== body.rows[number])) body.append(...order);
  }

  heads.forEach((head) => {
    const button = document.createElement("button");
    head.dataset.name = head.textContent.trim().replace(/\s+/g, "-");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      sort(`${head.dataset.name} ${head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending"}`);
      keep();
    });
  });

  function read() {
    if (!location.hash.startsWith("#claims?")) return;
    const asked = new URLSearchParams(location.hash.slice("#claims?".length));
    for (const field of [...selects, form.q]) field.value = asked.get(field.name) || "";
    sort(asked.get("sort"));
    filter();
    document.getElementById("claims").scrollIntoView();
  }

  form.hidden = false;
  form.addEventListener("input", () => { filter(); keep(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { sort(null); filter(); keep(); }));
  addEventListener("hashchange", read);
  sort(null);
  filter();
  read();
}
