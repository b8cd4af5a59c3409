import {
  readForVerification,
  type StoredEntry,
  type StoredLog,
  type StoredPage,
  type StoredText,
} from "../../src/ledger/index.ts";
import type { Store } from "../../src/store/index.ts";

type Nodes = { level: number; position: number; hash: Uint8Array };
type Row = { table: string; columns: Record<string, unknown> };

/** A stored log in memory, to be spoiled. */
export type CapturedLog = {
  head: { origin: string; size: number } | null;
  entries: StoredEntry[];
  nodes: Nodes[];
  texts: StoredText[];
  derived: Row[];
};

export function captureLog(store: Store): Promise<CapturedLog> {
  return readForVerification(store, async (log) => {
    const captured: CapturedLog = { head: log.head, entries: [], nodes: [], texts: [], derived: [] };
    for await (const page of log.pages) {
      captured.entries.push(...page.entries);
      captured.nodes.push(...page.nodes);
      captured.texts.push(...page.texts);
    }
    if (log.derived !== null) for await (const row of log.derived) captured.derived.push(row as Row);
    return captured;
  });
}

/** As a verifier reads it: in pages of three entries, sorted as the database would. */
export function replay(captured: CapturedLog): StoredLog {
  const entries = captured.entries.toSorted((a, b) => a.index - b.index);
  return {
    head: captured.head,
    derived: each(captured.derived) as NonNullable<StoredLog["derived"]>,
    pages: each(pagesOf(captured, entries)),
  };
}

async function* each<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values;
}

function* pagesOf(captured: CapturedLog, entries: readonly StoredEntry[]): Generator<StoredPage> {
  let from = 0;
  for (let at = 0; ; at += 3) {
    const part = entries.slice(at, at + 3);
    const last = part.at(-1);
    const end = part.length < 3 || last === undefined ? Number.POSITIVE_INFINITY : last.index + 1;
    const isHere = (index: number): boolean => index >= from && index < end;
    yield {
      entries: part,
      nodes: captured.nodes.filter(({ level, position }) => isHere((position + 1) * 2 ** level - 1)),
      texts: captured.texts.filter(({ entryIndex }) => isHere(entryIndex ?? Number.MAX_SAFE_INTEGER)),
    };
    if (end === Number.POSITIVE_INFINITY) return;
    from = end;
  }
}
