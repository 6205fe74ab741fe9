// The desk: every click is sent at once and kept here until the server has committed it.
"use strict";
const body = document.body, desk = `desk:${location.pathname.split("/")[1].slice(0, 8)}:`;
// Not crypto.randomUUID: it is missing where a page is not served securely.
const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const saved = $(".saved"), questions = $$(".question"), shown = () => questions.filter((each) => !each.hidden);
// A text that scrolls by itself, as on a phone, can be reached by the keyboard.
for (const words of $$(".words")) if (words.scrollHeight > words.clientHeight) words.tabIndex = 0;

// Sending: one after the other, again until it is there. A click has an id, so that twice is once.
// What a window that is gone could not send is sent first, and the page shown anew.
const store = desk + fresh(), left = Object.entries(localStorage).filter(([key]) => key.startsWith(desk));
let queue = left.flatMap(([, kept]) => JSON.parse(kept)), adopted = queue.length > 0;
let busy = false, pause = 500, since = performance.now(), looked = 0;
const keep = () => queue.length ? localStorage.setItem(store, JSON.stringify(queue)) : localStorage.removeItem(store);
const post = (path, message) => fetch(`./${path}`, { method: "POST", keepalive: true, body: JSON.stringify(message),
  headers: { "Content-Type": "application/json", "X-Desk-Token": body.dataset.token } });
const inView = () => {
  const now = performance.now(), more = document.hidden ? 0 : (now - since) / 1000;
  since = now;
  return more;
};
document.addEventListener("visibilitychange", () => {
  const now = performance.now();
  if (document.hidden) looked += (now - since) / 1000;
  since = now;
});
function put(attribute, part, value) {
  adopted = false;
  const seconds = Math.min(3600, looked + inView());
  looked = 0;
  queue.push({ click: fresh(), task: Number(body.dataset.task), attribute, part, value, seconds: Math.round(seconds * 10) / 10 });
  keep();
  say("saving");
  send();
}
async function send() {
  if (busy || !queue.length) return;
  busy = true;
  let reply, said = {};
  try {
    reply = await post("save", queue[0]);
    said = await reply.json();
  } catch { /* The server is away. */ }
  // Only now: until the answer is read, the click at the head of the queue is the one that was sent.
  busy = false;
  if (reply && (reply.ok || (reply.status >= 400 && reply.status < 500 && reply.status !== 408 && reply.status !== 429))) {
    queue.shift();
    keep();
    pause = 500;
    if (left.length && !queue.length) {
      for (const [key, kept] of left.splice(0)) if (localStorage.getItem(key) === kept) localStorage.removeItem(key);
      // Not under the hands of somebody who has gone on.
      if (adopted) location.reload();
    }
    if (reply.ok) { if (!queue.length) { say("saved"); progress(said); } }
    else say(said.problem || "not saved", true);
    send();
  } else {
    say("not saved: trying again", true);
    setTimeout(send, pause);
    pause = Math.min(8000, pause * 2);
  }
}
function say(words, wrong = false) {
  if (!saved) return;
  saved.textContent = words;
  saved.classList.toggle("wrong", wrong);
}
function progress(said) {
  if (said.done === undefined) return;
  const bar = $("progress");
  bar.value = said.done;
  $(".count").textContent = `${said.done.toLocaleString("en")} of ${bar.max.toLocaleString("en")} done`;
}
addEventListener("beforeunload", (event) => { flush(); if (queue.length && saved.classList.contains("wrong")) event.preventDefault(); });

// The form
const part = (question, name) => $(`[data-part="${name}"]`, question);
function score(question) {
  const radio = $('input[type="radio"]:checked', question), number = $('input[type="number"]', question);
  if (radio) return JSON.parse(radio.value);
  return number && number.value !== "" && number.validity.valid ? Number(number.value) : null;
}
const hasScore = (question) => $('[data-part="score"]', question) !== null;
// Of a rater a score is enough; a juror gives a reason too.
const isOpen = (question) => (hasScore(question) && score(question) === null) || ((!hasScore(question) || $(".send"))
  && $$("textarea[data-part]", question).some((field) => !field.closest("[hidden]") && !field.value.trim()));
function refresh() {
  const named = Object.fromEntries(questions.map((question) => [question.dataset.attribute, question]));
  for (const question of questions) {
    const conditions = Object.entries(JSON.parse(question.dataset.askedIf || "{}"));
    question.hidden = conditions.some(([name, value]) => named[name] && (named[name].hidden || score(named[name]) !== value));
    const moved = $(".moved_by", question);
    if (moved && question.dataset.own !== undefined) {
      const given = score(question);
      moved.hidden = given === null || given === JSON.parse(question.dataset.own);
    }
  }
  const left = shown().filter(isOpen).length, words = $(".left");
  if (words) words.textContent = left ? `${left} question${left === 1 ? "" : "s"} open` : "All answered";
  $(".next, .send")?.classList.toggle("ready", !left);
}
// A juror who keeps her vote keeps its reason, unless she writes another.
function keepReason(question) {
  const field = part(question, "rationale"), { own, ownReason } = question.dataset;
  if (!field || !ownReason) return;
  const before = field.value, same = score(question) === JSON.parse(own);
  if (same && !before) field.value = ownReason;
  if (!same && before === ownReason) field.value = "";
  if (field.value !== before) put(question.dataset.attribute, "rationale", field.value);
}
let now = null;
function choose(question, scroll = true) {
  now?.classList.remove("now");
  now = question;
  if (!question) return;
  question.classList.add("now");
  if (scroll) question.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}
function goOn() {
  const all = shown(), next = all.slice(all.indexOf(now) + 1).find(isOpen) || all.find(isOpen);
  if (next) choose(next);
}
const waiting = new Map();
function flush(field) {
  for (const [each, timer] of [...waiting]) {
    if (field && each !== field) continue;
    clearTimeout(timer);
    waiting.delete(each);
    put(each.closest(".question").dataset.attribute, each.dataset.part, each.value.slice(0, 4000));
  }
}
document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.matches("textarea[data-part]")) {
    clearTimeout(waiting.get(field));
    waiting.set(field, setTimeout(() => flush(field), 600));
    refresh();
  }
});
document.addEventListener("change", (event) => {
  const field = event.target, question = field.closest?.(".question"), name = field.dataset?.part;
  if (!question || !name) return;
  const attribute = question.dataset.attribute;
  if (field.matches("textarea")) return flush(field);
  if (field.type === "checkbox") put(attribute, name, $$(`input[data-part="${name}"]:checked`, question).map((box) => JSON.parse(box.value)));
  else if (field.type === "number") {
    const given = score(question);
    $$('input[type="radio"]', question).forEach((radio) => { radio.checked = false; });
    if (given !== null) put(attribute, name, Number(field.value));
    else say("not a number on this scale", true);
  } else {
    if (field.value === "null") return;
    const number = $('input[type="number"]', question);
    if (field.type === "radio" && number) number.value = "";
    put(attribute, name, JSON.parse(field.value));
    keepReason(question);
  }
  choose(question, false);
  refresh();
  // A juror has a reason to give before the next question.
  if (field.type === "radio" && !$(".send")) goOn();
});
document.addEventListener("focusin", (event) => { const question = event.target.closest(".question"); if (question && question !== now) choose(question, false); });
document.addEventListener("click", (event) => { const question = event.target.closest(".question"); if (question && question !== now) choose(question, false); });
addEventListener("pagehide", () => flush());

// Evidence: words out of a text
const most = Number(body.dataset.quotes || 8);
const quotesOf = (question) => JSON.parse($(".quotes", question)?.dataset.quotes || "[]");
function setQuotes(question, quotes, send = true) {
  const list = $(".quotes", question);
  list.dataset.quotes = JSON.stringify(quotes);
  list.replaceChildren(...quotes.map((quote) => {
    const item = document.createElement("li"), away = document.createElement("button"), words = document.createElement("q");
    words.textContent = quote;
    words.dir = "auto";
    away.type = "button";
    away.textContent = "×";
    away.setAttribute("aria-label", `Remove the quote ${quote.slice(0, 60)}`);
    away.onclick = () => setQuotes(question, quotesOf(question).filter((each) => each !== quote));
    item.append(words, away);
    return item;
  }));
  if (send) put(question.dataset.attribute, "evidence", quotes);
  mark();
}
function cite(words) {
  const quote = words.trim().slice(0, 1000), question = now || shown()[0];
  if (!quote || !question || !$(".quotes", question)) return;
  const quotes = quotesOf(question);
  if (quotes.includes(quote)) return;
  if (quotes.length >= most) return say(`at most ${most} quotes for a question`, true);
  const note = $("details.note", question);
  if (note) note.open = true;
  setQuotes(question, [...quotes, quote]);
}
function mark() {
  const quotes = shown().flatMap((question) => $(".quotes", question) ? quotesOf(question).map((quote) => [quote, question === now]) : []);
  for (const words of $$(".words")) {
    words.dataset.text ??= words.textContent;
    const text = words.dataset.text, spans = [];
    for (const [quote] of quotes) {
      const pattern = quote.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
      const at = text.search(new RegExp(pattern, "i"));
      if (at >= 0) spans.push([at, at + text.slice(at).match(new RegExp(pattern, "i"))[0].length]);
    }
    spans.sort((one, other) => one[0] - other[0]);
    const parts = [];
    let end = 0;
    for (const [from, to] of spans) {
      if (to <= end) continue;
      const start = Math.max(from, end), piece = document.createElement("mark");
      piece.textContent = text.slice(start, to);
      parts.push(text.slice(end, start), piece);
      end = to;
    }
    words.replaceChildren(...parts, text.slice(end));
  }
}
const offer = document.createElement("button");
offer.type = "button";
offer.className = "offer";
offer.textContent = "Use as evidence";
offer.hidden = true;
body.append(offer);
let picked = "";
document.addEventListener("selectionchange", () => {
  const selection = getSelection(), inside = selection.rangeCount && !selection.isCollapsed
    && selection.anchorNode?.parentElement?.closest(".words") && selection.focusNode?.parentElement?.closest(".words");
  picked = inside ? selection.toString() : "";
  offer.hidden = !picked.trim() || !$(".quotes");
  if (offer.hidden) return;
  const box = selection.getRangeAt(0).getBoundingClientRect();
  const below = Math.min(innerHeight - 56, box.bottom + 6), left = Math.max(8, Math.min(innerWidth - 170, box.left));
  offer.style.setProperty("top", `${below}px`);
  offer.style.setProperty("left", `${left}px`);
});
offer.addEventListener("pointerdown", (event) => event.preventDefault());
offer.addEventListener("click", () => { cite(picked); getSelection().removeAllRanges(); });

// Keys
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target;
  if (field.matches(".quote-in")) {
    if (event.key === "Enter" && field.value.trim()) {
      choose(field.closest(".question"), false);
      cite(field.value);
      field.value = "";
      event.preventDefault();
    }
    return;
  }
  if (event.key === "Escape") { field.blur?.(); $("#help")?.setAttribute("hidden", ""); return; }
  if (field.matches("textarea, select, input[type=text], input[type=number]")) return;
  const at = shown().indexOf(now), all = shown(), arrows = field.matches("input[type=radio]");
  if (/^[0-9x]$/.test(event.key) && now) {
    const radio = $(`input[data-key="${event.key}"]`, now);
    if (radio) { if (radio.checked) goOn(); else radio.click(); event.preventDefault(); }
  } else if (event.key === "j") choose(all[Math.min(all.length - 1, at + 1)]);
  else if (event.key === "k") choose(all[Math.max(0, at - 1)]);
  else if (event.key === "n" && now) {
    const note = $("details.note", now);
    if (note) note.open = true;
    part(now, "rationale")?.focus();
    event.preventDefault();
  } else if (event.key === "e") cite(picked);
  else if (event.key === "Enter" && !field.matches("a, button, summary") && !all.some(isOpen)) $(".next, .send:enabled")?.click();
  else if (event.key === "ArrowRight" && !arrows) $(".next")?.click();
  else if (event.key === "ArrowLeft" && !arrows) $("a.back")?.click();
  else if (event.key === "?") help();
});
function help() {
  const section = $("#help"), button = $(".help");
  section.hidden = !section.hidden;
  button.setAttribute("aria-expanded", String(!section.hidden));
}
$("#help") ? $(".help")?.addEventListener("click", help) : $(".help")?.remove();

// Leaving a case waits until its clicks are there.
$(".next")?.addEventListener("click", async (event) => {
  flush();
  if (!queue.length) return;
  event.preventDefault();
  for (let waited = 0; queue.length && waited < 50; waited += 1) await new Promise((done) => setTimeout(done, 40));
  location.href = event.target.href;
});
$(".send")?.addEventListener("click", async (event) => {
  flush();
  for (let waited = 0; queue.length && waited < 250; waited += 1) await new Promise((done) => setTimeout(done, 40));
  const reply = await post("send", { task: Number(body.dataset.task) }).catch(() => null), said = await reply?.json().catch(() => ({}));
  if (reply?.ok) location.href = `./?after=${Number(body.dataset.place) + 1}`;
  else say(said?.problem || "not sent: try again", true);
});

questions.forEach((question) => { if ($(".quotes", question)) setQuotes(question, quotesOf(question), false); });
if (body.dataset.sent !== undefined) $$("input, textarea, select", document).forEach((field) => { field.disabled = true; });
refresh();
if (questions.length) choose(shown().find(isOpen) || shown()[0], false);
send();
if (body.dataset.reload !== undefined) setInterval(async () => {
  const page = await fetch(location.href).then((reply) => reply.ok ? reply.text() : "").catch(() => "");
  const fetched = page && new DOMParser().parseFromString(page, "text/html"), main = fetched && fetched.querySelector("main");
  if (fetched && fetched.body.dataset.task !== undefined) location.reload();
  else if (main) $("main").replaceChildren(...main.childNodes);
}, 5000);
