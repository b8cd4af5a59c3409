import type { Redactor } from "../domain/index.ts";
import { type ChangedText, lineNumbers } from "./changed-text.ts";
import { lintSecrets } from "./secret-lint.ts";

/** A text of ours or the model's that is published with the change, under the name that a report gives it. */
export type PublishedText = { readonly name: string; readonly text: string };

/** What looks like a secret: by which rule, and where. Never the value. */
export type SecretHit = {
  readonly rule: string;
  /** A path, secrets in it taken out, or a text's name. */
  readonly place: string;
  /** From 1. */
  readonly line: number;
};

/**
 * Looks for secrets in added lines, new files, the names of changed files and the texts published with them (SEC-97): live
 * secrets in all their forms, values with a secret's shape, and secretlint's rules. A hit is reported once a line.
 */
export async function scanForSecrets(
  { find, redact }: Pick<Redactor, "find" | "redact">,
  files: readonly ChangedText[],
  texts: readonly PublishedText[],
): Promise<readonly SecretHit[]> {
  const hits: SecretHit[] = [];
  for (const { path, text, isAdded } of files) {
    const isInBase = (first: number, last: number): boolean => {
      for (let line = first; line <= last; line += 1) if (isAdded(line)) return false;
      return true;
    };
    const found = await findIn(find, path, text);
    hits.push(...found.filter(({ first, last }) => !isInBase(first, last)).map(toHit(redact(path))));
  }
  const names = files.map(({ path }) => ({ name: `the name ${redact(path)}`, text: path }));
  for (const { name, text } of [...names, ...texts]) hits.push(...(await findIn(find, name, text)).map(toHit(name)));
  const firstOfLine = new Map(hits.toReversed().map((hit) => [`${hit.place}\0${hit.line}`, hit]));
  return hits.filter((hit) => firstOfLine.get(`${hit.place}\0${hit.line}`) === hit);
}

type Found = { readonly rule: string; readonly first: number; readonly last: number };

async function findIn(find: Redactor["find"], name: string, text: string): Promise<readonly Found[]> {
  const found = [...find(text), ...(await lintSecrets(name, text))].toSorted((a, b) => a.from - b.from);
  const firsts = lineNumbers(
    text,
    found.map(({ from }) => from),
  );
  return found.map(({ rule, from, to }, at) => {
    const first = firsts[at] ?? 1;
    return { rule, first, last: first + text.slice(from, to).trimEnd().split("\n").length - 1 };
  });
}

const toHit =
  (place: string) =>
  ({ rule, first }: Found): SecretHit => ({ rule, place, line: first });
