import type { Redacted } from "../domain/index.ts";

/** Largest text that GitHub takes, which we count in bytes of UTF-8 (GH-105). */
export const textLimitBytes = 65_536;
/** Left free by `cutText` for the markers that the writer appends. */
const markerSpaceBytes = 512;

const joint = "\u200B"; // zero width space: seen by parsers, not by people, and not removed by trimming

/** Control characters but tab and line feed, and the marks that turn the direction of text around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unseen = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

const plain = (text: Redacted<string>): Redacted<string> =>
  text.toWellFormed().replaceAll(/\r\n?/g, "\n").replaceAll(unseen, "\uFFFD") as Redacted<string>;

type Breaks = readonly (readonly [form: RegExp, broken: string])[];

/** What builds are left out for, by GitHub and by others: in brackets, between stars, as words and as a trailer. */
const skipped = "ci|cd|checks?|actions?|builds?|workflows?|tests?|deploy(?:ment)?s?|release";

/**
 * What is acted on by somebody who reads the text as it stands, where there is no code and no fence: GitHub, in the message of a
 * commit that a pull request was squashed to; trackers, builds, makers of releases; bots, in comments.
 */
const acting: Breaks = [
  [/@/g, `@${joint}`], // people, teams, addresses, bots
  [/#(?=[\p{L}\p{N}_])/gu, `#${joint}`], // #1, owner/repo#1, AB#1, closing keywords before them, PROJ-1 #close, #major
  [/!(?=\d)/g, `!${joint}`],
  [/gh(?=\\?-\d)/gi, `$&${joint}`],
  [/(?<![\p{L}\p{N}])([A-Z][A-Z0-9_]+)(?=-\d)/gu, `$1${joint}`], // the key of an issue elsewhere
  [/:(?=\\?\/\\?\/)/g, `:${joint}`],
  [/(skip)(?=[\s_-]+\p{L})/giu, `$1${joint}`],
  // Within words too: a joint of the one would make a word of its own for the other.
  [new RegExp(`(skip|no)(?=[\\s_-]*(?:${skipped}))`, "giu"), `$1${joint}`],
  [new RegExp(`(${skipped})(?=[\\s_-]*skip)`, "giu"), `$1${joint}`],
  [/(?<=\p{L})(?=[\s_-]+skip)/giu, joint],
  [/(?<=-[a-z0-9]{1,20})(?= ?:)/gi, joint], // a trailer of git
  [/(BREAKING)(?=[ -]CHANGE)/g, `$1${joint}`],
  [/\+(?=semver)/gi, `+${joint}`],
  [/(fixup|squash|amend)(?=!)/gi, `$1${joint}`],
  [/\b(r)(?=[+?=])/gi, `$1${joint}`], // of merge bots
];

/** What of Markdown reaches outside, and what begins a command. A backslash before punctuation vanishes when rendered. */
const reaching: Breaks = [
  [/&/g, `&${joint}`], // entities, by which all below could be spelled
  [/</g, `<${joint}`], // raw HTML, comments, autolinks
  [/\](?=[([:])/g, `]${joint}`], // links, images, definitions
  [/www(?=\\?\.)/gi, `$&${joint}`],
  [/(`|~)(?=\1\1)/g, `$1${joint}`], // fences
  [/^([\p{Zs}\t\uFEFF>*+-]*)([/!])/gmu, `$1${joint}$2`], // commands of bots; within one line, or blank lines cost their square
];

const broken = (text: string, breaks: Breaks): string =>
  breaks.reduce((sofar, [form, by]) => sofar.replaceAll(form, by), text);

/**
 * Text of others with everything broken apart on which a tracker, a build or a bot would act (SEC-115). For Markdown's code,
 * within a line: there nothing reaches outside. People read it as it was.
 */
export const inactive = (text: Redacted<string>): Redacted<string> => broken(text, acting) as Redacted<string>;

/** The same for a fence: no line begins with a word of theirs, as the command of a bot does. */
export const inactiveLines = (text: Redacted<string>): Redacted<string> =>
  inactive(plain(text)).replaceAll(/^(?=.*\S)/gm, joint) as Redacted<string>;

/**
 * Text of others with everything broken apart that anybody would act on: mentions, references, closing keywords, links, images,
 * HTML, fences, commands (SEC-115). People read it as it was; it may stand in a title as well as in Markdown.
 */
export const inert = (text: Redacted<string>): Redacted<string> =>
  broken(inactive(plain(text)), reaching) as Redacted<string>;

const lineBreaks: Breaks = [
  [/\[/g, `[${joint}`],
  [/\*(?=\*)/g, `*${joint}`],
];

/**
 * One line of text of others for a title or a commit message, which GitHub, git and builds read as plain text: inert, and
 * without brackets and stars that leave out builds.
 */
export function inertLine(text: Redacted<string>): Redacted<string> {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return broken(inert(line as Redacted<string>), lineBreaks) as Redacted<string>;
}

/** The text in a fence that nothing in it can close. `language` is ours, never data. */
export function fenced(text: Redacted<string>, language = ""): string {
  const body = plain(text);
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${body}${body.endsWith("\n") || body === "" ? "" : "\n"}${fence}`;
}

/** At a code point: a byte that continues one is 10xxxxxx (RFC 3629 section 3). */
function headOf(bytes: Buffer, sizeBytes: number): string {
  let end = Math.max(0, Math.min(sizeBytes, bytes.length));
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** The fence that is open after a line (CommonMark 0.31.2 section 4.5); empty: none. */
function fenceAfter(open: string, line: string): string {
  const [, mark = "", rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (open === "") return mark.startsWith("`") && rest.includes("`") ? "" : mark;
  const isClosing = mark[0] === open[0] && mark.length >= open.length && rest.trim() === "";
  return isClosing ? "" : open;
}

/** What must follow so that nothing stays open: a fence, then folded parts. */
function closingOf(text: string): string {
  let fence = "";
  let folded = 0;
  for (const line of text.split("\n")) {
    const count = (tag: string): number => line.split(tag).length - 1;
    if (fence === "") folded += count("<details>") - count("</details>");
    fence = fenceAfter(fence, line);
  }
  return `${fence === "" ? "" : `\n${fence}`}${"\n</details>".repeat(Math.max(0, folded))}`;
}

/**
 * Without the code span that the end of a text cuts through: open, all that stands in it would be acted on. Ours do not go
 * over the end of a line.
 */
function withoutOpenSpan(head: string, following: string): string {
  const lineStart = head.lastIndexOf("\n") + 1;
  const mark = head.indexOf("`", lineStart);
  if (mark === -1 || following.startsWith("\n")) return head;
  return head.slice(0, lineStart).split("\n").reduce(fenceAfter, "") === "" ? head.slice(0, mark) : head;
}

/**
 * A text that fits: where it is too long it ends at a code point, with open fences closed and a notice of how much is
 * missing (GH-105); a code span is left out whole, with what follows on its line. `whole` says in Markdown where all of it is. By default the writer's markers still fit.
 */
export function cutText(text: string, whole: string, limitBytes: number = textLimitBytes - markerSpaceBytes): string {
  const bytes = Buffer.from(text.toWellFormed());
  if (bytes.length <= limitBytes) return text.toWellFormed();
  for (let size = limitBytes; ; ) {
    const upTo = headOf(bytes, size);
    const head = withoutOpenSpan(upTo, text.slice(upTo.length));
    const missing = bytes.length - Buffer.byteLength(head);
    const cut = `${head}${closingOf(head)}\n\nCut here: ${missing} of ${bytes.length} bytes are missing. The whole text: ${whole}`;
    const excess = Buffer.byteLength(cut) - limitBytes;
    if (excess <= 0 || size === 0) return headOf(Buffer.from(cut), limitBytes);
    size = Math.max(0, size - excess);
  }
}
