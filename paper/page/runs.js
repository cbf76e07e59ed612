// All runs, looked up by any words of a row or by a claim: `#runs?002-5`, `#runs?causal-rn string64`.

const MOST_RUNS = 100;

function runs(box, { heads, columns, claims }) {
  const field = made("input", { type: "search", autocomplete: "off", size: 40 }), said = made("output", { "aria-live": "polite" });
  const form = made("form", {}, made("label", {}, "a claim, or words of a row ", field), said);
  const table = made("div", { class: "scroll tall", tabindex: 0, role: "group", "aria-label": "runs" });
  const count = columns.find((one) => one.codes).codes.length;
  const row = (number) => columns.map(({ words, codes }) => words[codes ? codes[number] : number]);

  function places(asked) {
    if (asked in claims) return claims[asked].flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, more) => first + more));
    const words = asked.toLowerCase().split(/\s+/), found = [];
    for (let number = 0; number < count; number += 1) {
      const text = row(number).join(" ").toLowerCase();
      if (words.every((word) => text.includes(word))) found.push(number);
    }
    return found;
  }

  function show() {
    const found = places(field.value.trim());
    said.textContent = `${short(found.length)} of ${short(count)} runs${found.length > MOST_RUNS ? `, the first ${MOST_RUNS}` : ""}`;
    table.replaceChildren(tableOf(heads, found.slice(0, MOST_RUNS).map(row)));
  }

  function asked() {
    if (!location.hash.startsWith("#runs?")) return;
    field.value = decodeURIComponent(location.hash.slice("#runs?".length));
    show();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", show);
  addEventListener("hashchange", asked);
  box.replaceChildren(form, table);
  show();
  asked();
}

// An address that asks for runs unfolds them.
function askForRuns() {
  const details = document.getElementById("runs");
  if (details && location.hash.startsWith("#runs?")) opened(details).scrollIntoView();
}
