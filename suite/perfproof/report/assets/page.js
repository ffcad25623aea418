"use strict";
// The page says everything without this: sorting, filtering and the way from a dot to its trial are conveniences.

const table = document.querySelector("table.verdicts");
const bodies = table ? [...table.tBodies] : [];

/** The rows of a scenario, each with the line of reasons that belongs to it. */
function pairs(body) {
  const found = [];
  for (const row of body.rows) {
    if (row.classList.contains("row")) found.push([row]);
    else if (row.classList.contains("why") && found.length) found[found.length - 1].push(row);
  }
  return found;
}

function value(row, column) {
  const cell = row.cells[column];
  if (!cell) return null;
  if (cell.dataset.sort === undefined) return cell.textContent.trim();
  const number = parseFloat(cell.dataset.sort);
  return Number.isNaN(number) ? null : number;
}

/** Values in order, infinite ones at their end; what has none comes last, whichever way round. */
function compare(a, b, way) {
  if (a === null || b === null) return (a === null) - (b === null);
  return way * (typeof a === "number" && typeof b === "number" ? (a > b) - (a < b) : String(a).localeCompare(String(b)));
}

function sort(head, column) {
  const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
  for (const body of bodies) {
    const sorted = pairs(body).map((group) => ({ group, key: value(group[0], column) })).sort((x, y) => compare(x.key, y.key, way));
    body.append(...sorted.flatMap((each) => each.group));
  }
}

function sortable() {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.dataset.key === undefined) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, column));
    head.append(button);
  });
}

function filterable() {
  const tools = document.querySelector(".tools");
  const verdicts = [...new Set([...table.querySelectorAll("[data-verdict]")].map((row) => row.dataset.verdict))];
  const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "filter by metric or scenario" });
  field.setAttribute("aria-label", "Filter the table by metric or scenario");
  const told = document.createElement("span");
  told.setAttribute("role", "status");
  const buttons = verdicts.map((verdict) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: verdict });
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter(field, buttons, told);
    });
    return button;
  });
  field.addEventListener("input", () => filter(field, buttons, told));
  tools.append(field, ...buttons, told);
  tools.hidden = false;
}

function filter(field, buttons, told) {
  const wanted = field.value.trim().toLowerCase();
  const off = new Set(buttons.filter((button) => button.getAttribute("aria-pressed") !== "true").map((button) => button.textContent));
  let hidden = 0;
  for (const body of bodies) {
    const scenario = body.rows[0].textContent.toLowerCase();
    let shown = 0;
    for (const group of pairs(body)) {
      const row = group[0];
      const matches = scenario.includes(wanted) || row.cells[0].textContent.toLowerCase().includes(wanted);
      const out = off.has(row.dataset.verdict) || !matches;
      for (const each of group) each.hidden = out;
      if (out) hidden += 1; else shown += 1;
    }
    body.hidden = shown === 0;
  }
  told.textContent = hidden ? `${hidden} ${hidden === 1 ? "line" : "lines"} hidden` : "";
}

/** From a dot of a figure to its line in the table of trials. */
function open(event) {
  const dot = event.target.closest("[data-row]");
  const row = dot && document.getElementById(dot.dataset.row);
  if (!row) return;
  row.closest("details").open = true;
  for (const other of document.querySelectorAll("tr.found")) other.classList.remove("found");
  row.classList.add("found");
  row.scrollIntoView({ block: "center" });
}

if (table) {
  sortable();
  filterable();
}
document.addEventListener("click", open);
