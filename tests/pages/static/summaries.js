// The text of what is found, from texts.js: Sphinx fetches pages, which a browser refuses for files.

document.addEventListener("DOMContentLoaded", () => { // Sphinx's search has been read then, and has not begun
  globalThis.fetch = async (address) => ({ text: async () => TEXTS[decodeURIComponent(address).replace(/^.*?\.\/|\.html$/g, "")] });

  // From the section that an address names to the page's end.
  Search.htmlToText = (sections, anchor) => {
    const begin = Math.max(0, sections.findIndex(([name]) => name === anchor));
    return sections.slice(begin).map(([, text]) => text).join(" ");
  };
});
