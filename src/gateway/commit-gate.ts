import type { ChangeSet, FileChange, Redactor } from "../domain/index.ts";
import { type ChangedText, changedText } from "./changed-text.ts";
import type { PublishedText, SecretHit } from "./secret-scan.ts";

declare const passed: unique symbol;

/** A change set that the commit gate let through. Only the gate makes one, and `push_commit` publishes nothing else. */
export type PassedChangeSet = ChangeSet & { readonly [passed]: true };

/** What is to be published. */
export type GateProposal = {
  readonly changeSet: ChangeSet;
  /** Content of a path in the base; null where it has none there. */
  readonly readBase: (path: string) => Promise<Uint8Array | null>;
  /** Branch, commit message, title, body: whatever is published beside the files. */
  readonly texts: readonly PublishedText[];
  /** The most files, and added and removed lines. */
  readonly limits: { readonly files: number; readonly lines: number };
  /** Added and removed lines of the change set. */
  readonly lineCount: number;
};

export type GateAnswer =
  | { readonly kind: "passed"; readonly changeSet: PassedChangeSet }
  /** Each cause is a sentence that says what and where, and never the value. */
  | { readonly kind: "refused"; readonly causes: readonly string[] };

/**
 * The last look at a change set before anything of it is uploaded (SEC-97, SEC-98): secrets and size. Files that are refused
 * one by one were withheld before (`refusalsOfFile`).
 */
export async function passCommitGate(
  deps: { readonly redactor: Pick<Redactor, "find" | "redact"> },
  proposal: GateProposal,
): Promise<GateAnswer> {
  const { changeSet, readBase, texts } = proposal;
  const { scanForSecrets } = await import("./secret-scan.ts"); // its rules take a while to load: who publishes pays for them
  const hits = await scanForSecrets(deps.redactor, await changedTexts(changeSet.changes, readBase), texts);
  const causes = [...hits.map(hitText), ...sizeCauses(proposal)];
  if (causes.length > 0) return { kind: "refused", causes };
  return { kind: "passed", changeSet: changeSet as PassedChangeSet };
}

/** A content that a deleted file had is no addition: a file that is moved keeps what it holds. */
async function changedTexts(
  changes: readonly FileChange[],
  readBase: GateProposal["readBase"],
): Promise<readonly ChangedText[]> {
  const movedFrom = new Map(
    changes.flatMap(({ path, before, after }) => (before !== null && after === null ? [[before.blobSha, path]] : [])),
  );
  const texts: ChangedText[] = [];
  for (const change of changes) {
    const from = change.before === null ? movedFrom.get(change.after?.blobSha ?? "") : change.path;
    const text = changedText(change, from === undefined ? null : await readBase(from));
    if (text !== null) texts.push(text);
  }
  return texts;
}

const hitText = ({ rule, place, line }: SecretHit): string =>
  `what looks like a secret (${rule}) in ${place}, line ${line}`;

function sizeCauses({ changeSet, limits, lineCount }: GateProposal): readonly string[] {
  const { length: fileCount } = changeSet.changes;
  return [
    ...(fileCount > limits.files ? [`${fileCount} files are changed, ${limits.files} are allowed`] : []),
    ...(lineCount > limits.lines ? [`${lineCount} lines are added or removed, ${limits.lines} are allowed`] : []),
  ];
}
