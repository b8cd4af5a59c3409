/** Minutes since midnight of a time such as `09:30`. */
export function toMinutes(time) {
  const match = /^(\d{2}):(\d{2})$/.exec(time);
  if (match === null) throw new RangeError(`not a time of day: ${time}`);
  const minutes = Number(match[1]) * 60 + Number(match[2]);
  if (minutes >= 24 * 60) throw new RangeError(`not a time of day: ${time}`);
  return minutes;
}

/** The time of day, such as `09:30`, of minutes since midnight. */
export function toTime(minutes) {
  const hour = Math.floor(minutes / 60) % 24;
  return `${String(hour).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}
