// Pages that explain come before names of the code, which are many. `var`, because Sphinx declares it once more.
var Scorer = {
  objNameMatch: 6,
  objPartialMatch: 1,
  objPrio: { 0: 1, 1: 0, 2: -1 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
