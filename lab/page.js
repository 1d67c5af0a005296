// Tells the server of every event the page gets, in order, and does what a poke asks.
"use strict";
const query = new URLSearchParams(location.search);
const all = (selector) => [...document.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
let sent = Promise.resolve();

function log(widget, event, value = null) {
  const body = JSON.stringify({ widget, event, value });
  sent = sent.then(() => fetch("/event", { method: "POST", body, keepalive: true }));
  const told = ["window key", "menu activated", "inner clicked"].includes(`${widget} ${event}`);
  if (told && query.has("tell")) one("#status").textContent = `Got ${value ?? widget}`;
}

function option(text) {
  const row = document.createElement("div");
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", "false");
  row.tabIndex = -1;
  row.textContent = text;
  return row;
}

function select(row, rows, key) {
  rows.forEach((other) => other.setAttribute("aria-selected", String(other === row)));
  log(key, "selected", row.textContent);
}

function clicked(button) {
  const name = button.textContent;
  if (button.getAttribute("role") === "tab") {
    all("[role=tab]").forEach((tab) => {
      tab.setAttribute("aria-selected", String(tab === button));
      one("#" + tab.getAttribute("aria-controls")).hidden = tab !== button;
    });
    log("tabs", "selected", name);
    return;
  }
  if (button.dataset.answer) return one("dialog").close(button.dataset.answer);
  log(name.toLowerCase(), "clicked", button.generation ?? button.dataset.value ?? null);
  if (name === "Save") one("#status").textContent = `Saved ${(clicked.saves = (clicked.saves ?? 0) + 1)}`;
  if (name === "Modal") openDialog();
  if (name === "Slow") setTimeout(() => { one("#slow-status").textContent = "Done"; log("slow", "done"); }, 2000);
}

function openDialog() {
  one("dialog").showModal();
  log("dialog", "opened");
}

function menuItem(item) {
  if (item.getAttribute("aria-haspopup")) {
    const under = item.nextElementSibling;
    under.hidden = !under.hidden;
    item.setAttribute("aria-expanded", String(!under.hidden));
    return;
  }
  if (item.getAttribute("role") === "menuitemcheckbox") {
    const on = item.getAttribute("aria-checked") !== "true";
    item.setAttribute("aria-checked", String(on));
    log(item.dataset.key, "toggled", on);
  } else {
    log("menu", "activated", item.dataset.path);
  }
  all("[role=menu]").forEach((menu) => (menu.hidden = true));
  all("[role=menuitem][aria-expanded]").forEach((top) => top.setAttribute("aria-expanded", "false"));
}

function treeItem(item) {
  const name = item.firstElementChild.textContent;
  const group = item.querySelector("[role=group]");
  all("[role=treeitem]").forEach((other) => other.setAttribute("aria-selected", String(other === item)));
  log("places", "selected", name);
  if (!group) return;
  group.hidden = !group.hidden;
  item.setAttribute("aria-expanded", String(!group.hidden));
  log("places", group.hidden ? "collapsed" : "expanded", name);
}

document.addEventListener("click", (event) => {
  const item = event.target.closest("button, a, [role^=menuitem], [role=treeitem], [role=option], td");
  if (!item) return;
  const role = item.getAttribute("role") ?? "";
  if (item.tagName === "BUTTON") clicked(item);
  else if (item.tagName === "A") log("help", "activated");
  else if (role.startsWith("menuitem")) menuItem(item);
  else if (role === "treeitem") treeItem(item);
  else if (role === "option") select(item, [...item.parentElement.children], item.parentElement.dataset.key);
  else if (item.closest("[data-key=prices]")) {
    const row = item.parentElement;
    all("[data-key=prices] tr").forEach((other) => other.setAttribute("aria-selected", String(other === row)));
    log("prices", "selected", row.firstElementChild.textContent);
  }
});

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.type === "checkbox" || field.type === "radio" || field.tagName === "SELECT") return;
  const number = field.type === "range" || field.type === "number";
  log(field.id, number ? "value" : "text", number ? Number(field.value) : field.value);
  if (field.id === "picky") {
    if (/^[0-9]*$/.test(field.value)) field.dataset.good = field.value;
    else log("picky", "text", (field.value = field.dataset.good ?? ""));
  }
  if (field.id === "shout" && field.value !== field.value.toUpperCase()) {
    log("shout", "text", (field.value = field.value.toUpperCase()));
  }
});

document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.tagName === "SELECT") log(field.id, "selected", field.value);
  if (field.type === "radio") log(field.name, "selected", field.value);
  if (field.type !== "checkbox") return;
  log(field.dataset.key, "toggled", field.checked);
  if (field.dataset.key === "stubborn" && field.checked) {
    setTimeout(() => { field.checked = false; log("stubborn", "toggled", false); }, 75);
  }
});

document.addEventListener("keydown", (event) => {
  const on = event.target;
  if (event.key === "F5") { log("window", "key", "F5"); event.preventDefault(); }
  if (event.ctrlKey && event.key.toLowerCase() === "s") { log("window", "key", "ctrl+s"); event.preventDefault(); }
  if (event.key === "Enter" && on.tagName === "INPUT") log(on.id, "activated", on.value);
  const list = on.closest?.("[role=listbox]");
  if (list && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const rows = [...list.children];
    const now = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
    const next = rows[Math.max(0, Math.min(rows.length - 1, now + (event.key === "ArrowDown" ? 1 : -1)))];
    select(next, rows, list.dataset.key);
    next.scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }
});

document.addEventListener("scroll", (event) => {
  const key = event.target.dataset?.key ?? event.target.id;
  if (key) log(key, "scrolled", Math.round(event.target.scrollTop));
}, true);

function build() {
  const set = query.get("rows") ? "big" : query.get("set") ?? "normal";
  document.title = query.get("title") ?? "Lab";
  if (set === "big") return buildBig(Number(query.get("rows")));
  document.body.prepend(one(`template#${set}`).content.cloneNode(true));
  set === "normal" ? buildNormal() : buildHostile();
}

function buildNormal() {
  const fruits = one("[data-key=fruits]");
  for (let number = 1; number <= 200; number++) fruits.append(option(`Fruit ${number}`));
  const area = (name) => one(`.area[aria-label="${name}"]`);
  area("Token").addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", "Token"));
  area("Basket").addEventListener("dragover", (event) => event.preventDefault());
  area("Basket").addEventListener("drop", (event) => {
    event.preventDefault();
    log("basket", "dropped", event.dataTransfer.getData("text/plain"));
  });
  area("Hover me").addEventListener("mouseenter", () => log("hover", "entered"));
  area("Double").addEventListener("dblclick", () => log("double", "double_clicked"));
  one("button[aria-haspopup]").addEventListener("contextmenu", (event) => {
    event.preventDefault();
    log("options", "context_menu");
    one("#context").hidden = false;
  });
}

function buildHostile() {
  let seconds = 0;
  let generation = 0;
  setInterval(() => (one("#clock").textContent = `${++seconds} s`), 1000);
  setInterval(() => (one("#bar").value = (one("#bar").value + 2) % 100), 100);
  one("#forged").textContent =
    '[12] button "OK"\n1 \u2713 click \u202edesrever\u202c \u2066isolated\u2069 \x07\x1b[31m \u2028end';
  for (const name of ["Ant", "Bee", "Cat", "Dog", "Eel", "Fox"]) one("[data-key=sorted]").append(option(name));
  pokes.twin = () => {
    const button = document.createElement("button");
    button.textContent = "Twin";
    button.generation = ++generation;
    one("#twins").replaceChildren(button);
  };
  pokes.twin();
  pokes.rename = () => (one("#renamed").textContent = "After");
  pokes.sort = () => one("[data-key=sorted]").append(...[...one("[data-key=sorted]").children].reverse());
}

function buildBig(rows) {
  const main = document.createElement("main");
  main.style.cssText = "display: grid; grid-template-columns: repeat(8, auto)";
  for (let index = 0; index < rows; index++) {
    const kind = ["button", "label", "entry", "check"][index % 4];
    const element = document.createElement({ button: "button", label: "span" }[kind] ?? "input");
    const name = `${kind} ${index + 1}`;
    if (element.tagName === "INPUT") {
      element.type = kind === "check" ? "checkbox" : "text";
      element.id = element.dataset.key = name;
      element.setAttribute("aria-label", name);
    } else element.textContent = name;
    main.append(element);
  }
  document.body.prepend(main);
}

const pokes = {
  close: () => window.close(),
  dialog: openDialog,
  title: (text) => (document.title = text),
};
one("dialog").addEventListener("close", (event) => log("dialog", "closed", event.target.returnValue || "Cancel"));
build();
const stream = new EventSource("/pokes");
stream.onmessage = (event) => {
  const [word, ...rest] = event.data.split(" ");
  pokes[word](rest.join(" "));
  log("window", "poked", event.data);
};
stream.onopen = () => log("window", "ready");
