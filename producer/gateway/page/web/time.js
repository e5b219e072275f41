// time.js - the time of the fleet, also where the clock of the browser is wrong.
let ahead = 0; // ms by which the fleet is ahead of the browser

export function now() {
  return Date.now() + ahead;
}

// date: of an answer's head, in whole seconds; sent: when it was asked for, by the browser's clock. While
// the two clocks may be alike, they are taken for alike.
export function heed(date, sent) {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return;
  const least = at - Date.now();
  const most = at + 2000 - sent;
  ahead = Math.max(least, Math.min(ahead, most));
}
