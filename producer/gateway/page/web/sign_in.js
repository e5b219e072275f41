// sign_in.js - asks for a key, and has the gateway keep it in a cookie.
import { post } from "./api.js";
import { h } from "./dom.js";
import { fault } from "./format.js";
import { t } from "./words.js";

export function open(place, me, signedIn) {
  let refusal = null;
  let busy = false;

  async function submit(event) {
    event.preventDefault();
    if (busy) return;
    const key = new FormData(event.target).get("key").trim();
    busy = true;
    place.changed();
    try {
      signedIn(await post("/v1/sign-in", { key }));
    } catch (error) {
      refusal = error.status === 401 ? t("The gateway knows no such key: it may have been removed, or have ended.") : error.message;
    }
    busy = false;
    place.changed();
  }

  return {
    title: () => t("Sign in"),
    draw: () =>
      h(
        "form",
        { class: "sign-in", onsubmit: submit },
        h("h1", {}, t("Sign in")),
        h("p", {}, t("With a key of the scope read. An operator makes one:")),
        h("pre", {}, "quern key add --tenant NAME --scopes read"),
        h("label", { for: "key" }, t("Key")),
        h("input", { id: "key", name: "key", type: "password", autocomplete: "current-password", required: true, shown: (node) => node.focus() }),
        fault(refusal),
        h("button", { "aria-disabled": String(busy) }, t("Sign in")),
      ),
    close() {},
  };
}
