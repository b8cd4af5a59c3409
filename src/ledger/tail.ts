import { sql } from "kysely";
import { type ActionId, type ActionState, CountersignError, type RunId, statesAtRest } from "../domain/index.ts";
import type { Store, Transaction } from "../store/index.ts";
import type { Frontier } from "./merkle.ts";

/** The end of the log, as far as the next entry depends on it. */
export type Tail = {
  readonly tree: Frontier;
  /** Of the last entry, in milliseconds; null in an empty log. */
  readonly timeMs: number | null;
  /** Number of entries of the runs asked for: the next `runSeq`. */
  readonly runSizes: ReadonlyMap<RunId, number>;
  /** States of the actions that this process moved and that are not at rest: for the code's own check (AUD-3). */
  readonly states: ReadonlyMap<ActionId, ActionState>;
};

type TailRow = {
  readonly origin: string;
  readonly size: number;
  readonly time: string | null;
  readonly hash: Buffer | null;
  readonly run_sizes: Readonly<Record<string, number>> | null;
};

/** One round trip; the complete subtrees on the right edge give the whole tree. */
export async function readTail(db: Store["db"] | Transaction, runIds: readonly RunId[]): Promise<Tail> {
  const { rows } = await sql<TailRow>`
    select head.origin, head.size, last.time, edge.hash,
      (select json_object_agg(run_id, size) from run_heads where run_id = any(${runIds}::uuid[])) as run_sizes
    from ledger_head head
    left join ledger_entries last on last.index = head.size - 1
    left join lateral (
      select 0 as level, last.leaf_hash as hash where head.size % 2 = 1
      union all
      select node.level, node.hash from generate_series(1, 52) as one_bit
        join ledger_nodes node on node.level = one_bit and node.position = (head.size >> one_bit) - 1
        where (head.size >> one_bit) % 2 = 1
    ) edge on true
    order by edge.level desc`.execute(db);
  const [head] = rows;
  if (head === undefined) throw new Error("the ledger was not opened: it has no head");
  const roots = rows.flatMap(({ hash }) => (hash === null ? [] : [hash]));
  if (roots.length !== countOnes(head.size)) {
    throw new CountersignError("LEDGER_UNAVAILABLE", "the stored tree does not cover the log", {
      remedy: "something else has written to the database: run `countersign audit verify`",
      details: { size: head.size },
    });
  }
  return {
    tree: { size: head.size, roots },
    timeMs: head.time === null ? null : Date.parse(head.time),
    runSizes: new Map(runIds.map((runId) => [runId, head.run_sizes?.[runId] ?? 0])),
    states: new Map(),
  };
}

const countOnes = (size: number): number => [...size.toString(2)].filter((digit) => digit === "1").length;

/** The tail without what would grow for ever in a long-lived process. */
export function trimTail(tail: Tail, keepRuns: number): Tail {
  const states = [...tail.states].filter(([, state]) => !statesAtRest.has(state));
  return { ...tail, runSizes: new Map([...tail.runSizes].slice(-keepRuns)), states: new Map(states) };
}
