"use strict";
// Tables can be sorted and searched where scripts run; the page says the same without.
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const before = [...body.rows];
  const value = (row, at) => {
    const cell = row.cells[at];
    const text = cell.textContent.trim();
    const number = cell.title ? parseFloat(cell.title) : text === "" ? NaN : Number(text.replaceAll(",", ""));
    return Number.isNaN(number) && text !== "" && !cell.title ? text : number;
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const keyed = before.map((row, index) => [value(row, at), index, row]);
      keyed.sort(([a, i], [b, j]) => {
        const numbers = [a, b].map((each) => typeof each === "number");
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || i - j;
        if (numbers[0] && numbers[1]) return sign * (a - b) || i - j;
        if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
        return sign * a.localeCompare(b) || i - j;
      });
      body.append(...keyed.map(([, , row]) => row));
    });
  });
}
for (const table of document.querySelectorAll("table[data-search]")) {
  const form = document.createElement("div");
  form.className = "search";
  const label = document.createElement("label");
  const input = document.createElement("input");
  const found = document.createElement("span");
  input.type = "search";
  label.append(table.dataset.search, " ", input);
  found.setAttribute("role", "status");
  form.append(label, found);
  table.closest(".scroll").before(form);
  const size = document.createElement("input");
  if (table.dataset.size) {
    const least = document.createElement("label");
    size.type = "number";
    size.min = 0;
    least.append("Rows from ", size);
    found.before(least);
  }
  const show = () => {
    const wanted = input.value.toLowerCase();
    const rows = [...table.tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const count = size.value ? Number(row.cells[table.dataset.size].textContent.replaceAll(",", "")) : 0;
      row.hidden = count < Number(size.value) || !row.cells[0].textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    found.textContent = wanted || size.value ? `${shown} of ${rows.length}` : "";
  };
  input.addEventListener("input", show);
  size.addEventListener("input", show);
}
