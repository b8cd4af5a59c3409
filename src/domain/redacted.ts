import { mapTexts } from "./map-texts.ts";

declare const redactedBrand: unique symbol;

/**
 * A text that the redactor saw as it was, or plain data of such texts: whole, before anything was cut from it, joined to it or
 * put into it. Half a secret is found by nobody (SEC-100). Words of ours (the members of a union) and ids are what they were.
 */
export type Redacted<Value> = Value extends string
  ? string extends Value
    ? Value & { readonly [redactedBrand]: true }
    : Value
  : Value extends ArrayBufferView
    ? Value
    : Value extends object
      ? { readonly [Key in keyof Value]: Redacted<Value[Key]> }
      : Value;

/** What makes one of a text. */
export type Redact = (text: string) => Redacted<string>;

/** A copy of plain data, each text of which the redactor has seen by itself. */
export const redactTexts = <Value>(redact: Redact, value: Value): Redacted<Value> =>
  mapTexts(value, redact) as Redacted<Value>;

/** At most `most` characters, the mark among them that says that more was there. */
export function cutRedacted(text: Redacted<string>, most: number, mark = "…"): Redacted<string> {
  if (text.length <= most) return text;
  const points = Array.from(text.slice(0, 2 * (most + 1))); // a character has at most two code units
  if (points.length <= most) return text;
  return `${points.slice(0, Math.max(0, most - mark.length)).join("")}${mark}` as Redacted<string>;
}
