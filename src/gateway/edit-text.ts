import { readShown } from "../domain/index.ts";
import { findPlaces, indexText, lineAt, type Place, type TextIndex, withLineEnding } from "./find-anchor.ts";
import { nearestLines } from "./nearest-lines.ts";
import type { AnchorMiss } from "./refusals.ts";

export type Edit = { readonly anchor: string; readonly replacement: string };

/** Lines of the new text, from 1, both ends included. */
export type LineRange = { readonly lineFrom: number; readonly lineTo: number };

export type EditedText =
  | { readonly kind: "edited"; readonly text: string; readonly ranges: readonly LineRange[] }
  | { readonly kind: "anchor_empty" | "no_change"; readonly index: number }
  | { readonly kind: "anchor_not_found"; readonly miss: AnchorMiss }
  | {
      readonly kind: "anchor_ambiguous";
      readonly index: number;
      readonly count: number;
      /** The first five. */
      readonly lines: readonly number[];
      /** The edit grown by neighbouring lines of the first place until it is unique; as sent where that fails. */
      readonly widened: Edit;
    }
  | { readonly kind: "edits_overlap"; readonly first: number; readonly second: number };

/** What can be told from the edits alone. */
export function checkEdits(edits: readonly Edit[]): Extract<EditedText, { kind: "anchor_empty" | "no_change" }> | null {
  for (const [index, edit] of edits.entries()) {
    if (edit.anchor === "") return { kind: "anchor_empty", index };
    if (edit.anchor === edit.replacement) return { kind: "no_change", index };
  }
  return null;
}

/**
 * Applies all edits or none (ACI-32). Each anchor is found in the text as it was before, must occur exactly once, and is
 * replaced literally (ACI-35). Pure: the same text and edits give the same text.
 * INVARIANT: what lies outside the edited regions is unchanged (test/gateway/edit-text.test.ts).
 */
export function editText(text: string, edits: readonly Edit[]): EditedText {
  const flaw = checkEdits(edits);
  if (flaw !== null) return flaw;
  const index = indexText(text);
  const found: Splice[] = [];
  for (const [at, edit] of edits.entries()) {
    const places = findPlaces(index, edit.anchor);
    const place = places[0];
    if (place === undefined) return { kind: "anchor_not_found", miss: describeMiss(index, edit, at) };
    if (places.length > 1) return describeAmbiguity(index, edit, at, places);
    const replacement = withLineEnding(edit.replacement, text.slice(place.start, place.end), index.lineEnding);
    found.push({ ...place, index: at, replacement });
  }
  const ordered = found.toSorted((a, b) => a.start - b.start);
  for (const [at, later] of ordered.entries()) {
    const before = ordered[at - 1];
    if (before !== undefined && before.end > later.start) {
      const [first = 0, second = 0] = [before.index, later.index].toSorted((a, b) => a - b);
      return { kind: "edits_overlap", first, second };
    }
  }
  return splice(text, ordered);
}

type Splice = Place & { readonly index: number; readonly replacement: string };

function splice(text: string, ordered: readonly Splice[]): EditedText {
  const parts: string[] = [];
  const spans: { at: number; before: string; after: string }[] = [];
  let from = 0;
  let length = 0;
  for (const { start, end, replacement } of ordered) {
    const kept = text.slice(from, start);
    parts.push(kept, replacement);
    spans.push({ at: length + kept.length, before: text.slice(start, end), after: replacement });
    length += kept.length + replacement.length;
    from = end;
  }
  const edited = parts.join("") + text.slice(from);
  return { kind: "edited", text: edited, ranges: spans.map((span) => changedLines(edited, span)) };
}

/** The lines that differ: whole lines that anchor and replacement share at their ends are left out. */
function changedLines(text: string, span: { at: number; before: string; after: string }): LineRange {
  const before = span.before.split("\n");
  const after = span.after.split("\n");
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const first = lineAt(text, span.at);
  const lineFrom = first + Math.min(head, after.length - 1);
  return { lineFrom, lineTo: Math.max(lineFrom, first + after.length - 1 - tail) };
}

const numbered = /^\s*\d+(?:\t|→|\||: )/;

function describeMiss(index: TextIndex, edit: Edit, at: number): AnchorMiss {
  const { anchor } = edit;
  const firstLine = anchor.split("\n").find((line) => line.trim() !== "") ?? anchor;
  const meant = meantByEscapes(index, edit);
  const hint = meant === null ? hintFor(index, anchor) : "it has escapes where the file has hidden code points";
  return { index: at, firstLine, hint, nearest: nearestLines(index.folded, firstLine), meant };
}

/** Shown as escapes, hidden code points are copied as such: matching is exact, so that is told and not mended (SEC-16). */
function meantByEscapes(index: TextIndex, { anchor, replacement }: Edit): Edit | null {
  const meant = readShown(anchor);
  if (meant === anchor || findPlaces(index, meant).length === 0) return null;
  return { anchor: meant, replacement: readShown(replacement) };
}

/** Nearness serves the message alone; nothing is ever written by it (ACI-33). */
function hintFor(index: TextIndex, anchor: string): string {
  const lines = anchor.replaceAll("\r\n", "\n").split("\n");
  const hasNumbers = lines.some((line) => numbered.test(line));
  const unnumbered = lines.map((line) => line.replace(numbered, "")).join("\n");
  if (hasNumbers && index.folded.includes(unnumbered)) return "it differs only in the line numbers of the viewer";
  const places = placesByTrimmed(index.folded, lines);
  if (places.length > 0) return `it differs only in leading or trailing whitespace from lines ${places.join(", ")}`;
  const withoutEnd = anchor.replace(/\r?\n$/, "");
  if (withoutEnd !== anchor && findPlaces(index, withoutEnd).length > 0)
    return "the file has no newline after that text";
  return "";
}

/** Lines where the anchor would stand if whitespace at the ends of lines didn't count: the first five. */
function placesByTrimmed(text: string, anchorLines: readonly string[]): readonly number[] {
  const wanted = anchorLines.map((line) => line.trim());
  if (wanted.every((line) => line === "")) return [];
  const lines = text.split("\n").map((line) => line.trim());
  const places: number[] = [];
  for (let at = 0; at + wanted.length <= lines.length && places.length < 5; at += 1) {
    if (wanted.every((line, offset) => lines[at + offset] === line)) places.push(at + 1);
  }
  return places;
}

function describeAmbiguity(index: TextIndex, edit: Edit, at: number, places: readonly Place[]): EditedText {
  return {
    kind: "anchor_ambiguous",
    index: at,
    count: places.length,
    lines: places.slice(0, 5).map((place) => lineAt(index.text, place.start)),
    widened: widen(index, edit, places),
  };
}

const maxWidening = 8;

/** Grows the first place upwards, then downwards, line by line. */
function widen(index: TextIndex, edit: Edit, places: readonly Place[]): Edit {
  const { text } = index;
  let { start, end } = places[0] ?? { start: 0, end: 0 };
  const origin = { start, end };
  for (let step = 0; step < maxWidening; step += 1) {
    if (step % 2 === 0) start = start === 0 ? 0 : text.lastIndexOf("\n", Math.max(0, start - 2)) + 1;
    else end = text.indexOf("\n", end + 1) === -1 ? text.length : text.indexOf("\n", end + 1);
    const anchor = text.slice(start, end);
    if (findPlaces(index, anchor).length > 1) continue;
    const grown = text.slice(start, origin.start) + edit.replacement + text.slice(origin.end, end);
    return { anchor: anchor.replaceAll("\r\n", "\n"), replacement: grown.replaceAll("\r\n", "\n") };
  }
  return edit;
}
