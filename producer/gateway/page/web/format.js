// format.js - numbers, times and foreign text, as people read them.
import { h } from "./dom.js";
import { now } from "./time.js";
import { language, t } from "./words.js";

// What a gateway does not send is not known: it is not zero.
const UNKNOWN = "–";

export function count(number) {
  return Number.isFinite(number) ? new Intl.NumberFormat(language()).format(number) : UNKNOWN;
}

// Of a chart's axis: 12k.
export function short(number) {
  return new Intl.NumberFormat(language(), { notation: "compact", maximumFractionDigits: 1 }).format(number);
}

// As t(), of one or of several: the number is the first that is given.
export function counted(number, one, many, ...given) {
  return t(number === 1 ? one : many, count(number), ...given);
}

export function money(micro) {
  const dollars = micro / 1e6;
  return inDollars(dollars, 2, dollars !== 0 && Math.abs(dollars) < 0.1 ? 4 : 2);
}

// In a column, where the points of the numbers stand below each other. What has cost nothing may have no price.
export function moneyInColumn(micro) {
  return micro === 0 ? UNKNOWN : inDollars(micro / 1e6, 4, 4);
}

function inDollars(dollars, least, most) {
  if (!Number.isFinite(dollars)) return UNKNOWN;
  return new Intl.NumberFormat(language(), {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  }).format(dollars);
}

// "1.5 MB"
export function bytes(number) {
  if (!Number.isFinite(number)) return UNKNOWN;
  const sizes = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const power = number > 0 ? Math.min(Math.floor(Math.log(number) / Math.log(1000)), sizes.length - 1) : 0;
  const options = { style: "unit", unit: sizes[power], unitDisplay: power === 0 ? "long" : "short", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(language(), options).format(number / 1000 ** power);
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

// A length of time: "4.2 s", "3 min", "250 ms".
export function length(ms) {
  if (!Number.isFinite(ms)) return UNKNOWN;
  for (const [unit, size] of UNITS)
    if (ms >= size) {
      const whole = ms / size;
      return `${whole < 10 && unit === "s" ? trimmed(whole) : Math.floor(whole)} ${t(unit)}`;
    }
  return `${Math.round(ms)} ${t("ms")}`;
}

function trimmed(number) {
  return number.toFixed(1).replace(/\.0$/, "");
}

// A bound of a bucket of times; -1: of the last one, which has none.
export function bound(ms) {
  if (!Number.isFinite(ms)) return UNKNOWN;
  return ms < 0 ? `> ${length(3_000_000)}` : `≤ ${length(ms)}`;
}

export function clock(ms) {
  return new Intl.DateTimeFormat(language(), { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(ms);
}

export function date(ms) {
  if (!Number.isFinite(ms)) return UNKNOWN;
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "medium" }).format(ms);
}

// The zone of all times that are shown: "Europe/Berlin, GMT+1".
export function zone() {
  const format = new Intl.DateTimeFormat(language(), { timeZoneName: "shortOffset" });
  const offset = format.formatToParts(Date.now()).find((part) => part.type === "timeZoneName").value;
  const { timeZone } = format.resolvedOptions();
  return timeZone === "UTC" ? timeZone : `${timeZone}, ${offset}`;
}

// A time as an element, with its zone.
export function moment(ms) {
  const text = new Intl.DateTimeFormat(language(), { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" }).format(ms);
  return h("time", { datetime: new Date(ms).toISOString() }, text);
}

// One of two words; of what is not known neither.
export function either(is, yes, no) {
  return is === undefined ? UNKNOWN : t(is ? yes : no);
}

// A time as an element: how long ago, with the whole of it to hover on.
export function ago(ms) {
  if (!ms) return UNKNOWN;
  const passed = Math.max(now() - ms, 0);
  const text = passed < 1000 ? t("now") : t("{} ago", length(passed));
  return h("time", { datetime: new Date(ms).toISOString(), title: date(ms) }, text);
}

// Marks that turn the direction of text around, and characters that show nothing, but for tabs and ends of lines: they
// can make a text look like another one, so they are shown by their numbers, as schemas/message/glyph.c does it. So
// are marks on a letter that has five already, which would paint over other lines. A blank cell of Braille is as wide
// as a space, and is left as one.
//
// Some belong to how scripts are written, and change what is seen there: U+200C keeps letters apart (Persian), U+200D
// joins them (Sinhala), makes an old chillu of Malayalam, and one emoji of several; selectors choose the shape of an
// emoji, a key, a Han or a Mongolian letter; fillers stand for a missing letter of a Korean syllable. There they stay.
// In Latin, by digits, at the ends of a word and behind each other they change nothing: there they are shown.
const JOINING = [
  "Arabic Syriac Nko Mandaic Mongolian Phags_Pa Adlam Hanifi_Rohingya Devanagari Bengali Gurmukhi Gujarati Oriya",
  "Tamil Telugu Kannada Malayalam Sinhala Khmer Balinese Javanese Chakma Meetei_Mayek",
].join(" ").split(" ").map((name) => `\\p{Script=${name}}`).join("");
const NEEDED = [
  `[\\u200C\\u200D](?<=[\\p{L}&&[${JOINING}]]\\p{M}*.)(?=[[\\p{L}\\p{M}]&&[${JOINING}]])`,
  "\\u200D(?<=[കണതനമയരലളഴ]\\u0D4D.)(?!\\u200C|\\u200D)",
  "\\u200D(?<=\\p{Extended_Pictographic}[\\uFE0F\\p{Emoji_Modifier}]?.)(?=\\p{Extended_Pictographic})",
  "[\\uFE0E\\uFE0F](?<=\\p{Extended_Pictographic}.)",
  "\\uFE0F(?<=[#*0-9].)(?=\\u20E3)",
  "[\\uFE00-\\uFE02\\u{E0100}-\\u{E01EF}](?<=\\p{Script=Han}.)",
  "[\\u180B-\\u180D\\u180F](?<=[\\p{L}&&\\p{Script=Mongolian}].)",
  "\\u115F(?=[\\u1161-\\u11A7])|\\u1160(?<=[\\u1100-\\u115E].)",
].join("|");
const UNSEEN = "[\\p{Default_Ignorable_Code_Point}\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\u{1D159}\\uFFFC]--[\\t\\n\\r]";
const HIDDEN = new RegExp(`(?!${NEEDED})[${UNSEEN}]|\\p{M}(?<=\\p{M}{6})`, "gv");

// Of code all are shown, as glyph.c does it: none of these scripts is needed to know what it does.
const HIDDEN_IN_CODE = new RegExp(`[${UNSEEN}]|\\p{M}(?<=\\p{M}{6})`, "gv");

const MOST_MARKS = 500; // of a text that are elements: a progress bar prints a hundred thousand

function number(mark) {
  return `U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

// Where no element can be: in an attribute.
export function visible(text) {
  return text.replace(HIDDEN, (mark) => `[${number(mark)}]`);
}

// Text that somebody else has written, isolated from the direction of what is around it.
export function foreign(text = UNKNOWN, isCode = false) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(isCode ? HIDDEN_IN_CODE : HIDDEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    at = match.index;
    if (parts.length > 2 * MOST_MARKS) break;
    parts.push(h("span", { class: "hidden-mark", title: t("A character that is not seen") }, number(match[0])));
    at += match[0].length;
  }
  if (at < text.length) parts.push(visible(text.slice(at)));
  return h("bdi", {}, parts);
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// Whether it can be the id of a job: an address may have any text in its place.
export function isId(text) {
  return ID.test(text);
}

const MOST_QUOTED = 200;

// A name, or what stands for one, in a sentence of the page.
export function quoted(name) {
  return `“${name.length > MOST_QUOTED ? `${name.slice(0, MOST_QUOTED)}…` : name}”`;
}

// What went wrong, in the gateway's words, which may have somebody's name in them.
export function fault(text) {
  return text && h("p", { class: "fault", role: "alert" }, foreign(text));
}
