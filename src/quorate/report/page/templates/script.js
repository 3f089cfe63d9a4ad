"use strict";
// Sort by a click on a column's name, filter as one types, save what is listed as CSV, unfold.
const FIRST = 12;
for (const table of document.querySelectorAll("table[data-name]")) {
  const body = table.tBodies[0], rows = () => [...body.rows], box = table.closest(".wide");
  const cell = (td) => td.dataset.value ?? td.textContent.trim();
  const compare = (x, y) => {
    const [p, q] = [parseFloat(x), parseFloat(y)];
    if (x === "" || y === "") return (x === "") - (y === "");
    return isNaN(x.split("|")[0]) || isNaN(y.split("|")[0]) ? x.localeCompare(y) : p - q;
  };
  let unfolded = table.classList.contains("confusion") || rows().length <= FIRST + 3, wanted = "";
  const all = document.createElement("button");
  const show = () => {
    const found = rows().filter((row) => row.textContent.toLowerCase().includes(wanted));
    for (const row of rows()) row.hidden = true;
    found.forEach((row, i) => { row.hidden = !(unfolded || wanted || i < FIRST); });
    all.hidden = unfolded || wanted !== "";
  };
  table.unfold = () => { unfolded = true; show(); };
  table.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => {
    const head = button.parentElement, up = head.getAttribute("aria-sort") === "descending" ||
      (!head.hasAttribute("aria-sort") && !head.classList.contains("n"));
    table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const at = head.cellIndex, sign = up ? 1 : -1;
    const keyed = rows().map((row) => [cell(row.cells[at]), row]);
    keyed.sort(([x], [y]) => (x === "" || y === "" ? compare(x, y) : sign * compare(x, y)));
    body.append(...keyed.map(([, row]) => row));
    show();
  }));
  const tools = document.createElement("div");
  tools.className = "tools";
  if (rows().length > 5 && !table.classList.contains("confusion")) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "Filter";
    filter.setAttribute("aria-label", "Filter " + table.dataset.name);
    filter.addEventListener("input", () => { wanted = filter.value.toLowerCase(); show(); });
    tools.append(filter);
  }
  const save = document.createElement("button");
  save.type = "button";
  save.textContent = "CSV";
  save.setAttribute("aria-label", "Save " + table.dataset.name + " as CSV");
  save.addEventListener("click", () => {
    const quoted = (text) => (/[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const heads = [...table.tHead.rows[0].cells].flatMap((th) => names(th));
    const lines = rows().filter((row) => row.textContent.toLowerCase().includes(wanted))
      .map((row) => [...row.cells].flatMap((td, i) => values(td, table.tHead.rows[0].cells[i])).map(quoted).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([[heads.map(quoted).join(","), ...lines].join("\n") + "\n"]));
    link.download = table.dataset.name.replaceAll(" ", "-") + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  // A cell of an interval has two columns in the file, one of a confusion matrix four.
  const matrix = ["", " count", " low", " high"];
  const names = (th) => th.dataset.keys ? th.dataset.keys.split(" ").slice(0, 2)
    : table.classList.contains("confusion") && th.classList.contains("n")
      ? matrix.map((end) => th.textContent.trim() + end) : [th.textContent.trim()];
  const values = (td, th) => {
    const n = names(th).length, parts = cell(td).split("|");
    return n === 1 ? [cell(td)] : [...parts, ...Array(n)].slice(0, n).map((part) => part ?? "");
  };
  tools.append(save);
  box.before(tools);
  all.type = "button";
  all.className = "all";
  all.textContent = "Show all " + rows().length.toLocaleString("en");
  all.addEventListener("click", table.unfold);
  box.after(all);
  show();
}
// A link to something that is folded opens it.
const open = () => {
  let target = null;
  try { target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
  if (!target) target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return;
  const folded = target.closest("details"), table = target.closest("table");
  if (folded) folded.open = true;
  if (table && table.unfold && target.hidden) table.unfold();
  if (folded || table) target.scrollIntoView();
};
addEventListener("hashchange", open);
open();
// The part that is read is marked in the list of parts.
const links = new Map([...document.querySelectorAll("nav li a")].map((a) => [a.hash.slice(1), a]));
if ("IntersectionObserver" in window) {
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      links.forEach((a) => a.classList.remove("here"));
      links.get(target.id)?.classList.add("here");
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("main section").forEach((section) => watch.observe(section));
}
