// Of each table the file that it was made from, to be saved; of a long one the rows of single seeds, when unfolded.

function seeds(box, { heads, rows }) {
  box.replaceChildren(made("div", { class: "scroll tall", tabindex: 0, role: "group", "aria-label": "every seed" }, tableOf(heads, rows)));
}

function downloads() {
  for (const file of document.querySelectorAll("script.file")) {
    const button = made("button", { type: "button", class: "file" }, `data: ${file.dataset.name}`);
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([JSON.parse(file.textContent)], { type: "text/csv" }));
      made("a", { href: address, download: file.dataset.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    file.after(button);
  }
}
