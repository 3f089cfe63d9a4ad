"use strict";
// Sort by a click on a column's name, filter as one types, and save what is shown as CSV.
for (const table of document.querySelectorAll("table[data-name]")) {
  const body = table.tBodies[0], rows = () => [...body.rows];
  const cell = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent.trim();
  table.querySelectorAll("th button").forEach((button, i) => button.addEventListener("click", () => {
    const head = button.parentElement, up = head.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const column = head.cellIndex;
    const order = (a, b) => {
      const [x, y] = [cell(a, column), cell(b, column)], [p, q] = [Number(x), Number(y)];
      const difference = x !== "" && y !== "" && !isNaN(p) && !isNaN(q) ? p - q : x.localeCompare(y);
      return up ? difference : -difference;
    };
    body.append(...rows().sort(order));
  }));
  const tools = document.createElement("div");
  tools.className = "tools";
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter";
  filter.setAttribute("aria-label", "Filter " + table.dataset.name);
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of rows()) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  const save = document.createElement("button");
  save.type = "button";
  save.textContent = "CSV";
  save.setAttribute("aria-label", "Save " + table.dataset.name + " as CSV");
  save.addEventListener("click", () => {
    const quoted = (text) => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const heads = [...table.tHead.rows[0].cells].map((th) => quoted(th.textContent.trim()));
    const lines = rows().filter((row) => !row.hidden)
      .map((row) => [...row.cells].map((_, i) => quoted(cell(row, i))).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([[heads.join(","), ...lines].join("\n") + "\n"]));
    link.download = table.dataset.name.replaceAll(" ", "-") + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  tools.append(filter, save);
  table.closest(".wide").before(tools);
}
// A link to something that is folded opens it.
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded) { folded.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", open);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
open();
