// What the theme and Sphinx leave out, for those who hear the pages or use the keyboard alone.

document.addEventListener("DOMContentLoaded", () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each("[role=heading]:not([aria-level])", (one) => one.setAttribute("aria-level", "2"));
  each("pre, .table-wrapper", (one) => one.setAttribute("tabindex", "0")); // wide ones scroll
  each("aside.sidebar-drawer", (one) => one.setAttribute("aria-label", "all pages"));
  each("aside.toc-drawer", (one) => one.setAttribute("aria-label", "this page"));
  each("dl:not(:has(> dt))", (list) => { // a signature in several lines, which is no list of definitions
    const lines = Object.assign(document.createElement("div"), { className: "signature" });
    for (const one of list.children) {
      const line = document.createElement("div");
      line.append(...one.childNodes);
      lines.append(line);
    }
    list.replaceWith(lines);
  });
  if (!document.querySelector("h1")) document.querySelector("article").prepend(Object.assign(document.createElement("h1"), { textContent: document.title.split(" - ")[0] }));
});
