// The inspector's manners: theme, keyboard, which ballot is being read, news of a run that goes on.
"use strict";

const root = document.documentElement;
const here = document.body.dataset.here;
const all = (what, within = document) => Array.from(within.querySelectorAll(what));

// Light and dark: the system's choice until the reader makes one.
const kept = { get: () => { try { return localStorage.getItem("venire-theme"); } catch { return null; } },
               set: (theme) => { try { localStorage.setItem("venire-theme", theme); } catch { /* not kept, then */ } } };
if (kept.get()) root.dataset.theme = kept.get();
function turn() {
  const dark = root.dataset.theme === "dark" ||
    (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
  kept.set(root.dataset.theme);
}
document.getElementById("theme")?.addEventListener("click", turn);

const help = document.getElementById("help");
const ask = () => help && (help.open ? help.close() : help.showModal());
document.getElementById("ask")?.addEventListener("click", ask);

// On a narrow screen a case begins with its verdicts in a list; what was flagged stays unfolded.
if (here === "case" && matchMedia("(max-width: 700px)").matches) {
  for (const section of all(".attribute:not(.flagged)")) section.querySelector("details").open = false;
}

// The ballot being read: its reasons unfold, its evidence lights up in the texts.
let reading = null;
// Ballots known to be unfolded: the browser tells of an unfolding later, when another may be read by then.
const unfolded = new WeakSet(all(".vote[open]"));
function read(id, { scroll = true } = {}) {
  const vote = id && document.getElementById(id);
  if (!vote || !vote.classList.contains("vote")) return false;
  for (let box = vote.parentElement; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  vote.open = true;
  unfolded.add(vote);
  light(id);
  if (scroll) vote.scrollIntoView({ block: "nearest" });
  return true;
}
function light(id) {
  reading = id;
  all(".dot.on, mark.on, .seen.on").forEach((one) => one.classList.remove("on"));
  all(".vote.reading").forEach((one) => one.classList.remove("reading"));
  if (!id) return;
  document.getElementById(id)?.classList.add("reading");
  all(".dot").filter((dot) => dot.dataset.vote === id).forEach((dot) => dot.classList.add("on"));
  all(".seen").filter((line) => line.dataset.to === id).forEach((line) => line.classList.add("on"));
  const marks = all("mark").filter((mark) => mark.dataset.votes.split(" ").includes(id));
  marks.forEach((mark) => mark.classList.add("on"));
  const seen = new Set();
  for (const mark of marks) {
    const pane = mark.closest(".pane");
    if (!pane || seen.has(pane)) continue;
    seen.add(pane);
    pane.scrollTop += mark.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
  }
}
document.addEventListener("click", (event) => {
  arrive();
  const copied = event.target.closest("[data-copy], [data-copy-link]");
  if (copied) navigator.clipboard.writeText(copied.dataset.copy ?? location.href).then(() => { copied.textContent = "copied"; });
  const words = event.target.closest("[data-copy-next]");
  if (words) navigator.clipboard.writeText(words.nextElementSibling.textContent).then(() => { words.textContent = "copied"; });
  const dot = event.target.closest(".dot");
  if (dot) { event.preventDefault(); history.replaceState(null, "", `#${dot.dataset.vote}`); arrived = location.hash; read(dot.dataset.vote); return; }
  const mark = event.target.closest("mark");
  if (mark) read(mark.dataset.votes.split(" ")[0]);
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === arrived) { arrived = ""; arrive(); }
  const vote = event.target.closest(".vote > summary")?.parentElement;
  if (vote && !vote.open) { unfolded.add(vote); light(vote.id); }
});
// Unfolded by the browser itself, as by its search in the page.
document.addEventListener("toggle", (event) => {
  const vote = event.target;
  if (!vote.classList?.contains("vote")) return;
  if (!vote.open) unfolded.delete(vote);
  else if (!unfolded.has(vote)) { unfolded.add(vote); light(vote.id); }
}, true);
// The address is followed once: before the next key or click where the browser has not told of it yet.
let arrived = "";
function arrive() {
  if (location.hash === arrived) return;
  arrived = location.hash;
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id || read(id)) return;
  const section = document.getElementById(id);
  const box = section?.querySelector("details");
  if (box) box.open = true;
  section?.scrollIntoView();
}
addEventListener("hashchange", arrive);
arrive();

// Keyboard.
function step(by) {
  if (here === "list" || here === "overview") {
    const links = all("a.open, .look a.case");
    const at = links.indexOf(document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus();
    return;
  }
  const dots = all(".dot").filter((dot) => dot.checkVisibility());
  const at = dots.findIndex((dot) => dot.dataset.vote === reading);
  const dot = dots[Math.max(0, Math.min(dots.length - 1, at < 0 ? 0 : at + by))];
  if (!dot) return;
  dot.focus({ preventScroll: true });
  read(dot.dataset.vote);
}
const go = (what) => { const link = document.querySelector(what); if (link) link.click(); };
const keys = {
  "/": () => document.getElementById("q")?.focus(),
  "?": ask,
  j: () => step(1), k: () => step(-1),
  ArrowRight: () => go("[data-go=next]"), ArrowLeft: () => go("[data-go=prev]"),
  t: turn,
};
document.addEventListener("keydown", (event) => {
  arrive();
  if (event.key === "Escape") { document.activeElement?.blur(); light(null); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, .pane")) return;
  if (help?.open && event.key !== "?") return;
  // In what scrolls sideways the arrows scroll.
  const region = event.target.closest("[tabindex]:is(.wide, .figure)");
  if (event.key.startsWith("Arrow") && region && region.scrollWidth > region.clientWidth) return;
  const act = keys[event.key] ?? (/^[a-z]$/.test(event.key) && (() => go(`[data-key=${event.key}]`)));
  if (act) { event.preventDefault(); act(); }
});

// The graph is drawn aside with the mouse, besides being scrolled; where it was moved, no node is opened.
for (const graph of all("div.graph")) {
  let from = null, moved = false;
  graph.addEventListener("pointerdown", (event) => {
    moved = false;
    if (event.pointerType === "mouse" && event.button === 0) from = { x: event.clientX + graph.scrollLeft, y: event.clientY + graph.scrollTop };
  });
  graph.addEventListener("pointermove", (event) => {
    if (!from) return;
    moved ||= Math.abs(from.x - event.clientX - graph.scrollLeft) + Math.abs(from.y - event.clientY - graph.scrollTop) > 4;
    if (moved) graph.scrollTo(from.x - event.clientX, from.y - event.clientY);
  });
  addEventListener("pointerup", () => { from = null; });
  // The node under the mouse or the keyboard: its edges stay, the others fade.
  const lit = (event) => {
    const name = event.target.closest("[data-node]")?.dataset.node;
    graph.classList.toggle("lighting", Boolean(name));
    for (const edge of all("path.edge", graph)) edge.classList.toggle("lit", [edge.dataset.from, edge.dataset.to].includes(name));
  };
  graph.addEventListener("pointerover", lit);
  graph.addEventListener("focusin", lit);
  graph.addEventListener("pointerleave", () => graph.classList.remove("lighting"));
  graph.addEventListener("focusout", () => graph.classList.remove("lighting"));
  graph.addEventListener("dragstart", (event) => event.preventDefault());
  graph.addEventListener("click", (event) => { if (moved && event.detail) event.preventDefault(); }, true); // A key's click has no detail.
}

// The table one sees, to take along: what its cells show, as CSV or JSON.
const words = (box) => box.innerText.replace(/\s+/g, " ").trim();
// As in every CSV of venire's, no cell is a formula to a spreadsheet.
const cell = (word) => `"${/^'*[=+\-@\uff0b\uff0d\uff1d\uff20]/.test(word) && Number.isNaN(Number(word)) ? "'" : ""}${word.replaceAll('"', '""')}"`;
const written = {
  CSV: (heads, rows) => [heads, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n",
  JSON: (heads, rows) => JSON.stringify(rows.map((row) => Object.fromEntries(row.map((word, at) => [heads[at], word]))), null, 1),
};
// A file's name: the page, the heading that the table stands under, and a number where it is not the first there.
function fileName(table) {
  const page = document.title.split(" · ")[0];
  const under = (one) => {
    const heads = all("h2, h3, h4").filter((head) => head.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
    return heads.length ? words(heads.at(-1)) : "";
  };
  const alike = all("main table:has(thead)").filter((one) => under(one) === under(table));
  const number = alike.indexOf(table) + 1;
  return [page, under(table), number > 1 ? number : ""].filter(Boolean).join(" - ").replace(/[^\p{L}\p{N} ._()-]+/gu, "_").slice(0, 150);
}
function download(table, form) {
  const named = all("thead th", table).map((head, at) => words(head).replace(/ [↑↓]$/, "") || `column ${at + 1}`);
  // Two columns of one name would be one in JSON: a name that comes again is numbered.
  const heads = [];
  for (const name of named) {
    let other = name;
    for (let number = 2; heads.includes(other); number += 1) other = `${name} ${number}`;
    heads.push(other);
  }
  const rows = all("tbody tr", table).map((row) => Array.from(row.cells, words));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([written[form](heads, rows)], { type: form === "CSV" ? "text/csv" : "application/json" }));
  link.download = `${fileName(table)}.${form.toLowerCase()}`;
  link.click();
  URL.revokeObjectURL(link.href);
}
const offer = (within) => all("table:has(thead)", within).forEach((table) => {
  const bar = document.createElement("p");
  bar.className = "take";
  for (const form of Object.keys(written)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = form;
    button.title = `This table as ${form}`;
    button.addEventListener("click", () => download(bar.previousElementSibling.querySelector("table") ?? bar.previousElementSibling, form));
    bar.append(button);
  }
  (table.closest(".wide") ?? table).after(bar);
});
offer(document.getElementById("main"));

// News: while the run goes on, or is still being read, the lists renew themselves.
const reach = document.getElementById("reach");
let known = Number(document.body.dataset.read);
// What is in progress may have changed between the page's making and the first look, which therefore renews.
let moment = 0;
async function renew() {
  const answer = await fetch("./live");
  if (!answer.ok) return;
  const now = await answer.json();
  if (reach) reach.textContent = now.told;
  const parts = all("[data-live]");
  const read = now.scored + now.read + now.figures;
  if ((read === known && now.moment === moment) || !parts.length || parts.some((part) => part.contains(document.activeElement))) return;
  [known, moment] = [read, now.moment];
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  for (const part of parts) {
    const fresh = page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (fresh) { part.replaceChildren(...fresh.childNodes); offer(part); }
    // A deliberation that is over has another page, at the same address.
    else if (here === "progress") location.reload();
  }
}
if (reach) setInterval(() => renew().catch(() => { reach.textContent = "the inspector has stopped"; }), 2000);
