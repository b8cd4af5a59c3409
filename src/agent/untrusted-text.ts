import { type HiddenKind, showHidden, stripHidden } from "../domain/index.ts";
import { type RemovedMarkup, readMarkdown } from "./visible-markdown.ts";

declare const untrustedBrand: unique symbol;

/** Written by people on GitHub, as Markdown. `host`: the repository's, whose links stay; null: none. */
export type WrittenOrigin = {
  readonly kind: "issue_title" | "issue_body" | "comment";
  /** GitHub's numeric id as text; null: the local user. */
  readonly authorId: string | null;
  /** At the trigger. */
  readonly authorCanWrite: boolean;
  readonly host: string | null;
};

/** From the repository or out of the sandbox: what an edit has to match keeps its bytes (SEC-16). */
export type ShownOrigin = { readonly kind: "settings" | "tool_result" };

/** Where a text comes from; shown to the model beside it and never a right (SEC-11). */
export type TextOrigin = WrittenOrigin | ShownOrigin;

/** How many hidden things were taken out, by kind; a kind that did not occur is left out (SEC-15). */
export type RemovedCounts = Readonly<Partial<Record<HiddenKind | RemovedMarkup, number>>>;

/** Text that strangers may have written. The prompt builder takes nothing else for what is not ours (SEC-10). */
export type UntrustedText = {
  readonly [untrustedBrand]: true;
  readonly kind: "untrusted";
  readonly text: string;
  readonly origin: TextOrigin;
  readonly removed: RemovedCounts;
};

/** A text that can't be shown safely. `cause` completes "the text of the issue ..." (SEC-14). */
export type UnreadableText = { readonly kind: "unreadable"; readonly origin: WrittenOrigin; readonly cause: string };

/**
 * The one maker of `UntrustedText` (SEC-10). Of what people wrote on GitHub only what GitHub shows is left, decoded,
 * normalized and without hidden code points, until one more round would change nothing; what needs more than 10 rounds is
 * refused (SEC-12 to SEC-14). Everything else keeps what it says, with hidden code points as visible escapes (SEC-16).
 */
export function untrusted(raw: string, origin: ShownOrigin): UntrustedText;
export function untrusted(raw: string, origin: WrittenOrigin): UntrustedText | UnreadableText;
export function untrusted(raw: string, origin: TextOrigin): UntrustedText | UnreadableText {
  switch (origin.kind) {
    case "settings":
    case "tool_result":
      return branded(showHidden(raw.replaceAll("\r\n", "\n")).text, origin, {});
    default:
      return settled(raw, origin);
  }
}

// The one cast: the brand is nowhere but in the type.
const branded = (text: string, origin: TextOrigin, removed: RemovedCounts): UntrustedText =>
  ({ kind: "untrusted", text, origin, removed }) as unknown as UntrustedText;

/** SEC-14. Each round takes away one layer, as of `&amp;amp;lt;`; a text by a person has two at most. */
const mostRounds = 10;

function settled(raw: string, origin: WrittenOrigin): UntrustedText | UnreadableText {
  const removed: Partial<Record<HiddenKind | RemovedMarkup, number>> = {};
  const count = (kind: HiddenKind | RemovedMarkup, times = 1): void => {
    removed[kind] = (removed[kind] ?? 0) + times;
  };
  let text = raw;
  for (let round = 0; round < mostRounds; round += 1) {
    const seen = stripHidden(text.replaceAll(/\r\n?/g, "\n"));
    for (const [kind, times] of Object.entries(seen.removed)) count(kind as HiddenKind, times);
    const visible = readMarkdown(seen.text.normalize("NFC"), { ...readingOf(origin), count });
    if (visible === null) return { kind: "unreadable", origin, cause: "is nested too deep to be read safely" };
    if (visible === text) return branded(text, origin, removed);
    text = visible;
  }
  return { kind: "unreadable", origin, cause: `hides text in more than ${mostRounds} layers` };
}

const readingOf = ({ kind, host }: WrittenOrigin) => ({ host, isTitle: kind === "issue_title" });
