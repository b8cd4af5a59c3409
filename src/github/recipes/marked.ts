import { CountersignError } from "../../domain/index.ts";
import { type Marker, type MarkersRead, markerOf, readMarker } from "../markers.ts";
import { cutText, textLimitBytes } from "../text.ts";
import type { WriteContext } from "../write-row.ts";

/** A check run's texts may have one character less than others (GH-105). */
const limitBytes = textLimitBytes - 1;

/** The text with its markers as the last lines, within GitHub's limit. */
export function withMarkers(context: WriteContext, text: string, markers: readonly Marker[]): string {
  const lines = markers.map((marker) => markerOf(context.markerKey, context.place.repositoryId, marker));
  const end = `\n\n${lines.join("\n")}`;
  const whole = "with the operator of Countersign";
  return `${cutText(text.trimEnd(), whole, limitBytes - Buffer.byteLength(end))}${end}`;
}

export const markersIn = (context: WriteContext, text: string): MarkersRead | null =>
  readMarker(context.markerKey, context.place.repositoryId, text);

/** The text above the markers. */
export function withoutMarkers(text: string): string {
  let above = text.trimEnd();
  for (;;) {
    const lineStart = above.lastIndexOf("\n") + 1;
    if (!markerLine.test(above.slice(lineStart))) break;
    above = above.slice(0, lineStart).trimEnd();
  }
  return above === text.trimEnd() ? text : above;
}
const markerLine = /^[ \t]*<!-- countersign:.* -->$/;

/** Whether two texts are one: GitHub may end lines in its own way. */
export const isSameText = (a: string, b: string): boolean =>
  a.replaceAll("\r\n", "\n").trimEnd() === b.replaceAll("\r\n", "\n").trimEnd();

/** The markers of what our App wrote; null: someone else did, or changed the end of it (AUD-62). */
export async function ownMarkers(
  context: WriteContext,
  { authorId, body }: { readonly authorId: number | null; readonly body: string },
  signal: AbortSignal,
): Promise<MarkersRead | null> {
  const markers = markersIn(context, body);
  if (markers === null || authorId === null) return null;
  return authorId === (await context.app(signal)).botUserId ? markers : null;
}

export const notOurs = (what: string): CountersignError =>
  new CountersignError("GITHUB_NOT_OURS", `the ${what} was not written by us, so it is left as it is`);

/** A newer edit than this one stands there: the older must not undo it. */
export const outdated = (what: string, revision: number): CountersignError =>
  new CountersignError("GITHUB_INVALID", `a newer edit of the ${what} stands on GitHub`, {
    details: { reason: "outdated", revision },
  });

export const revisionOf = (markers: MarkersRead): number => markers.latest.revision ?? 0;
