// page_frame.js - HTML that code has displayed, in a frame.
//
// Without scripts: the HTML is read as a document that loads and runs nothing. What makes a browser reach other hosts,
// whatever its policy says (<link rel="preconnect">), is taken out, and the rest is put into an empty page (frame.html),
// which has a policy of its own and no right to run scripts.
//
// With scripts: a page of the gateway, of another origin. No policy keeps its scripts from sending what they see:
// RTCPeerConnection goes by none. Nor does any keep them from taking the focus: steps.js shows the frame alone.
import { address } from "./api.js";
import { h } from "./dom.js";
import { visible } from "./format.js";
import { t } from "./words.js";

const EMPTY = "/page/frame.html";
// Also what gives a link its address later: a browser connects to it when it is pressed.
const OUT = "link meta base script noscript iframe frame frameset object embed portal fencedframe set animate".split(" ");

// kind: "plain" or "scripts"; src: of the HTML.
export function pageFrame(src, kind) {
  const rights = kind === "plain" ? "allow-same-origin" : "allow-scripts";
  const fillIt = kind === "plain" && ((event) => fill(event.target, src));
  return h("iframe", {
    key: kind,
    title: t("What the code shows"),
    sandbox: rights,
    referrerpolicy: "no-referrer",
    src: kind === "plain" ? EMPTY : address(src, { frame: "scripts" }),
    onload: fillIt,
  });
}

async function fill(frame, src) {
  const read = await documentOf(src);
  const shown = frame.contentDocument;
  if (shown?.location.pathname !== EMPTY) return;
  if (!read) {
    shown.body.append(t("It is not kept any more."));
    return;
  }
  shown.documentElement.replaceWith(shown.adoptNode(cleaned(read).documentElement));
  // The policy of this page, which knows no inline styles, was heeded when they were read.
  for (const one of shown.querySelectorAll("[style]")) one.style.cssText = one.getAttribute("style");
}

function documentOf(src) {
  return new Promise((done) => {
    const asked = new XMLHttpRequest();
    asked.open("GET", src);
    asked.responseType = "document"; // no policy of Trusted Types is needed, as DOMParser needs one
    asked.overrideMimeType("text/html; charset=utf-8");
    asked.onloadend = () => done(asked.status === 200 ? asked.responseXML : null);
    asked.send();
  });
}

function cleaned(read) {
  for (const one of read.querySelectorAll("*")) {
    if (OUT.includes(one.localName)) one.remove();
    for (const { name } of [...one.attributes]) if (name.startsWith("on") || name === "ping") one.removeAttribute(name);
    if (["a", "area"].includes(one.localName)) withoutLink(one);
  }
  return read;
}

// The frame could show no other page. Where a link would lead can be seen by hovering.
function withoutLink(link) {
  for (const name of ["href", "xlink:href"]) {
    const to = link.getAttribute(name);
    if (to === null || to.startsWith("#")) continue;
    link.removeAttribute(name);
    link.setAttribute("title", visible(to));
  }
}
