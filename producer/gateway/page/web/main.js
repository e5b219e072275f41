// main.js - the page from its start: who looks at it, which view the address names, and the frame
// around the view.
//
// A view is a module with one function, open(place, me), which returns { title, draw, close }:
//   title()   names it
//   draw()    describes what the view shows now (dom.js)
//   close()   ends what it waits for
// It calls place.changed() when it has something new to show. place.path are the parts of the address
// behind "#/", place.query its filters; place.go({...}) changes the filters, and the focus stays;
// place.isBack: somebody has come back to it by the browser's history.
import { get, later, post, whenUnknown } from "./api.js";
import { forgetActs, isActing, showActs } from "./bulk.js";
import { h, render } from "./dom.js";
import { fault, foreign, quoted, zone } from "./format.js";
import { choose, language, languages, load, t } from "./words.js";

const RETRY_MS = 2000;
const VIEWS = {
  "": { name: "Overview", scope: "operate", load: () => import("./overview.js") },
  jobs: { name: "Jobs", scope: "read", load: () => import("./jobs.js") },
  ask: { name: "Ask", scope: "submit", load: () => import("./ask.js") },
  sessions: { name: "Sessions", scope: "read", load: lists },
  queues: { name: "Queues", scope: "operate", load: lists },
  workers: { name: "Workers", scope: "operate", load: lists },
  endpoints: { name: "Endpoints", scope: "operate", load: lists },
  schedules: { name: "Schedules", scope: "operate", load: lists },
  dead: { name: "Failed for good", scope: "operate", load: lists },
  tenants: { name: "Tenants", scope: "operate", load: lists },
  keys: { name: "Keys", scope: "admin", load: lists },
  job: { load: () => import("./job.js"), of: "jobs" },
  "sign-in": { load: () => import("./sign_in.js") },
};

function lists() {
  return import("./lists.js");
}

let me = null;
let view = null;
let shown = null; // the name of the view in the navigation, also before the view is there
let failure = null;
let opened = 0;

function place(isBack) {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    isBack,
    path: path.split("/").map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
    changed: draw,
    go(filters) {
      const given = Object.entries({ ...this.query, ...filters }).filter(([, value]) => value);
      const text = new URLSearchParams(given).toString();
      const address = `#/${path}${text ? `?${text}` : ""}`;
      if (address === location.hash) return;
      history.pushState(null, "", address);
      open(true);
    },
  };
}

// Somebody may have written the address by hand.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// What is shown stays until the next view is there. hasFocus: a control of the same view asked for it, and
// keeps the focus.
async function open(hasFocus = false) {
  const number = ++opened;
  view?.close();
  failure = null;
  forgetActs();
  const at = place(scrolls.enter());
  let name = at.path[0];
  const isNone = me && !Object.hasOwn(VIEWS, name);
  if (!me) name = "sign-in";
  else if (name === "" && !may("operate")) name = "jobs";
  const found = Object.hasOwn(VIEWS, name) ? VIEWS[name] : VIEWS[""];
  shown = found.of ?? name;
  if (isNone || (found.scope && !may(found.scope))) {
    failure = isNone ? t("There is no view {}.", quoted(name)) : t("This view needs a key of the scope {}.", found.scope);
    view = null;
    draw();
    return;
  }
  const module = await found.load().catch(() => null);
  if (number !== opened) return;
  if (!module) {
    failure = t("The gateway does not answer.");
    view = null;
    draw();
    later(() => again(number), RETRY_MS);
    return;
  }
  view = module.open(at, me, signedIn);
  if (!hasFocus) scrolls.restore();
  draw();
  if (number > 1 && !hasFocus) document.getElementById("view").focus({ preventScroll: true });
}

// Some browsers remember that a module could not be loaded: the page has to begin anew.
async function again(number) {
  if (number !== opened) return;
  const isThere = await get("/v1/me").then(() => true, (error) => error.status > 0);
  if (number !== opened) return;
  if (isThere && !isActing()) location.reload();
  else later(() => again(number), RETRY_MS);
}

function may(scope) {
  return me?.scopes.includes(scope);
}

// --- how far each place of the history was scrolled

const scrolls = {
  tops: new Map(), // by the number of the place
  at: 0,
  wanted: null, // where to scroll as soon as the view is that long, while the reader does nothing
  // One place is left for another. Returns whether somebody has been there before.
  enter() {
    if (this.wanted === null) this.tops.set(this.at, scrollY);
    const isBack = history.state?.number !== undefined;
    if (!isBack) history.replaceState({ number: Date.now() }, "");
    this.at = history.state.number;
    this.wanted = null;
    return isBack;
  },
  restore() {
    this.wanted = this.tops.get(this.at) ?? 0;
  },
  drawn() {
    if (this.wanted === null) return;
    scrollTo(0, this.wanted);
    if (scrollY >= this.wanted - 1) this.wanted = null;
  },
  begin() {
    history.scrollRestoration = "manual";
    const forget = () => (this.wanted = null);
    for (const name of ["wheel", "touchstart", "pointerdown", "keydown"])
      addEventListener(name, forget, { passive: true });
  },
};

// --- the frame around a view

let asked = false;

function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const holders = [];
    for (let one = document.activeElement; one; one = one.parentElement?.closest("[tabindex]")) holders.push(one);
    drawFrame();
    scrolls.drawn();
    // What had the focus is gone: then what it stood in has it, a table or the view, not the whole document.
    const holder = holders.find((one) => one.isConnected) ?? document.getElementById("view");
    if (holder !== holders[0]) holder.focus({ preventScroll: true });
    showCurrent();
  });
}

// A view that cannot be drawn is told in its place: the frame around it, and the next draw, go on.
function drawFrame() {
  let title = "quern";
  try {
    const content = view ? view.draw() : !failure && waiting();
    if (view) title = `${view.title()} · quern`;
    render(document.body, frame("view", content));
  } catch (error) {
    console.error(error);
    render(document.body, frame("broken", fault(t("This view cannot be shown: {}", error.message))));
  }
  document.title = title;
}

let current = null;

// On a phone the navigation is wider than the screen: the link of the view comes into sight, once.
function showCurrent() {
  const link = document.querySelector("nav [aria-current]");
  if (link === current) return;
  current = link;
  if (link) link.parentNode.scrollLeft = link.offsetLeft - (link.parentNode.clientWidth - link.offsetWidth) / 2;
}

// key: another one makes the place of the view anew.
function frame(key, content) {
  return [
    h("a", { class: "skip", href: "#view", onclick: skip }, t("Skip to the content")),
    h("header", { key: "header" }, h("a", { class: "name", href: "#/" }, "quern"), navigation(), settings()),
    fault(failure),
    showActs(draw),
    h("main", { id: "view", tabindex: "-1", key }, content),
    h("footer", { key: "footer", class: "note" }, t("Times are those of {}.", zone())),
  ];
}

function skip(event) {
  event.preventDefault();
  document.getElementById("view").focus();
}

function waiting() {
  return h("p", { class: "note" }, t("Loading…"));
}

function navigation() {
  const links = Object.entries(VIEWS).filter(([, one]) => one.name && may(one.scope));
  return h(
    "nav",
    { "aria-label": t("Views") },
    links.map(([name, one]) =>
      h("a", { href: `#/${name}`, "aria-current": shown === name ? "page" : false }, t(one.name)),
    ),
  );
}

function settings() {
  return h(
    "div",
    { class: "settings" },
    h(
      "select",
      { "aria-label": t("Language"), value: language(), onchange: changeLanguage },
      languages().map(([name, text]) => h("option", { value: name, selected: language() === name }, text)),
    ),
    h(
      "select",
      { "aria-label": t("Colours"), value: theme(), onchange: changeTheme },
      [["", "System"], ["light", "Light"], ["dark", "Dark"]].map(([value, text]) =>
        h("option", { value, selected: theme() === value }, t(text)),
      ),
    ),
    me && h("span", { class: "who", title: me.scopes.join(" ") }, foreign(me.tenant)),
    me && !me.open && h("button", { type: "button", onclick: signOut }, t("Sign out")),
  );
}

async function changeLanguage(event) {
  await choose(event.target.value);
  draw();
}

const THEME = "quern-theme";

function theme() {
  return localStorage.getItem(THEME) ?? "";
}

function useTheme() {
  document.documentElement.dataset.theme = theme();
}

function changeTheme(event) {
  localStorage.setItem(THEME, event.target.value);
  useTheme();
  draw();
}

// --- who looks at it

function signedIn(who) {
  if (before && before.tenant !== who.tenant) {
    sessionStorage.clear(); // what another tenant has typed
    location.reload(); // and has seen
    return;
  }
  me = who;
  open();
}

// The key was removed, or has ended: the sign-in form comes in the view's place. An answer may be late, and of an
// earlier key: so the gateway is asked.
let isAsking = false;
let before = null; // who it was

async function lost() {
  if (!me || isAsking) return;
  isAsking = true;
  const status = await get("/v1/me").then(() => 200, (error) => error.status);
  isAsking = false;
  if (status !== 401) return;
  before = me;
  me = null;
  open();
  failure = t("Your key was removed, or has ended. Sign in with another one to go on.");
}

async function signOut() {
  try {
    await post("/v1/sign-out");
    sessionStorage.clear(); // drafts
    location.reload();
  } catch (error) {
    failure = error.message;
    draw();
  }
}

async function start() {
  try {
    me = await get("/v1/me");
  } catch (error) {
    if (![401, 403].includes(error.status)) {
      failure = error.message;
      draw();
      later(start, RETRY_MS);
      return;
    }
  }
  whenUnknown(lost);
  addEventListener("hashchange", () => open());
  addEventListener("beforeunload", (event) => isActing() && event.preventDefault());
  await open();
}

useTheme();
scrolls.begin();
await load();
await start();
