/** What stands where a person or a template puts the value in. */
const placeholderMarks =
  /\$[({A-Za-z_]|<[^<]*>|\{[^{]*\}|\[[^[]*\]|\*{3}|\||%[sdv(]|\.\.\.|x{4,}|0{8,}|1234567|example|placeholder|your|change-?me|redacted|dummy|sample|password|passwd|foobar/i;
/** As far as a value is looked at: a mark stands near its beginning, or there is none. */
const lookedAt = 512;

/**
 * Whether a value is meant literally and long enough to be a secret: no placeholder, no variable, and not one word. A name
 * alone (`authorizationHeader`) has no digits.
 */
export function isLiteralSecret(value: string, leastLength: number): boolean {
  if (value.length < leastLength) return false;
  const start = value.slice(0, lookedAt);
  return /[0-9]/.test(start) && /[A-Za-z]/.test(start) && !isPlaceholder(start);
}

/** Whether it stands for a value and is none, as documentation writes it. */
export const isPlaceholder = (value: string): boolean => placeholderMarks.test(value.slice(0, lookedAt));
