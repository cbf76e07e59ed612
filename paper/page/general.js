"use strict";
// The page reads without these scripts: they open what an address names, filter and sort the claims, and draw what a
// reader chooses.

function opened(element) {
  for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  return element;
}

function goTo() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named && named.closest("details")) opened(named).scrollIntoView();
}
