import { createHmac, timingSafeEqual } from "node:crypto";

/** What a marker names: the action (for a check run the run) that wrote the text, and which edit of it. */
export type Marker = { readonly id: string; readonly revision: number | null };
/** `first` is the marker of the writing, `latest` that of the last edit, or the same. */
export type MarkersRead = { readonly first: Marker; readonly latest: Marker };

const macSizeBytes = 16; // half of SHA-256's output, as RFC 2104 section 5 allows
const markerForm = /^<!-- countersign:([A-Za-z0-9-]{1,64})(?::([0-9]{1,9}))?:([0-9a-f]{32}) -->$/;

function macOf(key: Uint8Array, repositoryId: number, { id, revision }: Marker): Buffer {
  const covered = `countersign marker\n${repositoryId}\n${id}\n${revision ?? ""}`;
  return createHmac("sha256", key).update(covered).digest().subarray(0, macSizeBytes);
}

/** The invisible line at the end of what we write, by which it is found again (AUD-62). */
export function markerOf(key: Uint8Array, repositoryId: number, marker: Marker): string {
  const revision = marker.revision === null ? "" : `:${marker.revision}`;
  return `<!-- countersign:${marker.id}${revision}:${macOf(key, repositoryId, marker).toString("hex")} -->`;
}

function readLine(key: Uint8Array, repositoryId: number, line: string): Marker | null {
  const [, id, revision, mac] = markerForm.exec(line) ?? [];
  if (id === undefined || mac === undefined) return null;
  const marker = { id, revision: revision === undefined ? null : Number(revision) };
  return timingSafeEqual(Buffer.from(mac, "hex"), macOf(key, repositoryId, marker)) ? marker : null;
}

/**
 * The markers at the end of a text, where only we write: one that stands further up is a quotation. Null: none is there
 * or a MAC is wrong. A valid marker proves nothing without our App as author (AUD-61).
 */
export function readMarker(key: Uint8Array, repositoryId: number, text: string): MarkersRead | null {
  const lines = text.trimEnd().split(/\r?\n/);
  const latest = readLine(key, repositoryId, lines.at(-1) ?? "");
  if (latest === null) return null;
  const above = readLine(key, repositoryId, lines.at(-2) ?? "");
  return { first: latest.revision === null ? latest : (above ?? latest), latest };
}
