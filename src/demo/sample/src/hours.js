import { toMinutes, toTime } from "./clock.js";

/** Whether the shop is open at a time; `hours` is a list of `{ from, to }` of one day. It is closed at the minute of `to`. */
export function isOpenAt(hours, time) {
  const minute = toMinutes(time);
  return hours.some((span) => toMinutes(span.from) <= minute && minute < toMinutes(span.to));
}

/** Whether a booking fits into one of the spans. It may end in the minute in which the shop closes. */
export function fitsInto(hours, start, lengthMinutes) {
  const from = toMinutes(start);
  const to = from + lengthMinutes;
  return hours.some((span) => {
    return toMinutes(span.from) <= from && to < toMinutes(span.to);
  });
}

/** The next time at which the shop opens, or null if it doesn't open again on that day. */
export function nextOpening(hours, time) {
  const minute = toMinutes(time);
  const later = hours.map((span) => toMinutes(span.from)).filter((from) => from > minute);
  return later.length === 0 ? null : toTime(Math.min(...later));
}
