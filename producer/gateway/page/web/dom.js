// dom.js - what a view shows, as a description; and the document, made to be so.
//
//   render(parent, h("p", { class: "note" }, "12 jobs ", h("a", { href }, "all")))
//
// A description is a string, null, an array of descriptions, or what h() returns. render() changes
// only what differs from the last time, so focus, selection and scroll positions stay. Text becomes
// text nodes, whatever is in it: nothing here takes HTML.
//
// Props: `key` tells the items of a list apart; `onclick` and the like are listeners; `value`,
// `checked` and `open` are set as properties, and only when the description has another one than
// before, or another `of`: what somebody has typed stays, until the field is of something else. All
// others are attributes, absent when false, null or undefined. `shown` is called with the element when
// it has been made.

const PROPERTIES = new Set(["value", "checked", "open"]);
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: flat(children) };
}

export function render(parent, ...described) {
  const focused = document.activeElement;
  patchChildren(parent, flat(described));
  // A browser takes the focus from what is moved.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

function flat(described) {
  return described
    .flat(Infinity)
    .filter((one) => one !== null && one !== undefined && one !== false && one !== "")
    .map((one) => (typeof one === "object" ? one : String(one)));
}

// What an element was made from last time.
const past = new WeakMap();

function patchChildren(parent, described) {
  const old = [...parent.childNodes];
  const byKey = new Map();
  for (const node of old) {
    const key = past.get(node)?.props.key;
    if (key !== undefined) byKey.set(key, node);
  }
  // What is gone goes first: else all behind it would be moved.
  const kept = new Set(described.map((one) => one.props?.key));
  for (const [key, node] of byKey) if (!kept.has(key)) node.remove();
  let next = parent.firstChild;
  for (const one of described) {
    let node = next;
    const key = one.props?.key;
    if (key !== undefined) node = byKey.get(key) ?? null;
    else while (node && past.get(node)?.props.key !== undefined) node = node.nextSibling;
    const now = node && patchNode(node, one) ? node : make(one, parent);
    if (now === next) next = next.nextSibling;
    else parent.insertBefore(now, next);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

// Whether that node can be what is described, and now is.
function patchNode(node, described) {
  if (typeof described === "string") {
    if (node.nodeType !== Node.TEXT_NODE) return false;
    if (node.data !== described) node.data = described;
    return true;
  }
  const before = past.get(node);
  if (before === described) return true;
  if (!before || before.tag !== described.tag) return false;
  patchChildren(node, described.children);
  patchProps(node, before.props, described.props); // a select has the option of its value now
  past.set(node, described);
  return true;
}

function make(described, parent) {
  if (typeof described === "string") return document.createTextNode(described);
  const { tag, props, children } = described;
  const isSvg = tag === "svg" || (parent.namespaceURI === SVG && parent.tagName !== "foreignObject");
  const node = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  patchChildren(node, children);
  patchProps(node, {}, props);
  past.set(node, described);
  if (props.shown) queueMicrotask(() => props.shown(node));
  return node;
}

function patchProps(node, before, props) {
  const isOther = before.of !== props.of;
  for (const name of Object.keys(before)) if (!(name in props)) setProp(node, name, null, before[name]);
  for (const name of Object.keys(props)) {
    if (isOther && PROPERTIES.has(name)) node[name] = props[name] ?? "";
    else setProp(node, name, props[name], before[name]);
  }
}

function setProp(node, name, value, before) {
  if (name === "key" || name === "of" || name === "shown") return;
  if (PROPERTIES.has(name)) {
    if (value !== before) node[name] = value ?? "";
  } else if (name.startsWith("on")) {
    if (before) node.removeEventListener(name.slice(2), before);
    if (value) node.addEventListener(name.slice(2), value);
  } else if (value === before) {
    return;
  } else if (value === false || value === null || value === undefined) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : value);
  }
}
