// Pages that people wrote come before the reference, and that before names of the code, which are many. `var`, because
// Sphinx declares it once more.
var Scorer = {
  score: ([page, title, anchor, about, score]) => score + (page.startsWith("made/") ? 0 : 3),
  objNameMatch: 6,
  objPartialMatch: 1,
  objPrio: { 0: 1, 1: 0, 2: -1 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
