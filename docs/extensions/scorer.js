// Order of search results: pages whose title has the words of the query, then guides, then the rest. Sphinx scores a
// page by its best word alone, so that all titles with "tokens" would be equal for "count tokens".
var Scorer = {
  objNameMatch: 30,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([docname, title, , , score]) => {
    const query = new URLSearchParams(location.search).get("q") ?? "";
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.filter((word) => title.toLowerCase().includes(word.replace(/s$/, ""))).length;
    const isGuide = !/^(reference|how|benchmarks|lesson)\//.test(docname);
    const isName = title.startsWith("fastbpe.") && words.length > 1; // one word asks for a name, several for a page
    return score + (isName ? -30 : (30 * found) / Math.max(words.length, 1)) + (isGuide ? 5 : 0);
  },
};
