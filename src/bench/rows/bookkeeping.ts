import { canonicalBytes, newRunId } from "../../domain/index.ts";
import { appendLeaves, emptyTree, leafHash } from "../../ledger/index.ts";
import { noRepositoryPolicies } from "../../policy/index.ts";
import { alternate, perCall } from "../alternate.ts";
import { atMost, figure, ratio, type Size } from "../figure.ts";
import { floorLoopOf } from "../measured-loop.ts";
import { actionEntries } from "../sample-entries.ts";
import { readRequest } from "../sample-request.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly calls: number; readonly actions: number }>> = {
  short: { rounds: 1, calls: 3, actions: 20 },
  bench: { rounds: 5, calls: 50, actions: 500 },
  soak: { rounds: 20, calls: 50, actions: 5_000 },
};

/** `performance.md` §5: what thinking about one action costs, as a share of the plainest loop's gap. Nothing is signed yet. */
export const bookkeepingRow: Row = {
  name: "bookkeeping",
  title: "canonicalise, decide, hash and append as a share of floor C's gap",
  measure: async (place, size, signal) => {
    const { rounds, calls, actions } = sizes[size];
    const { policies } = await place.runs();
    const script = { tool: "commands", calls } as const;
    const request = readRequest(place.deps);
    const entries = actionEntries(place.deps, newRunId(place.deps));
    let tree = emptyTree;
    const keepBooks = (): void => {
      canonicalBytes(request.input);
      policies.authorize([request], noRepositoryPolicies);
      const leaves = entries.map((entry) => leafHash(canonicalBytes({ ...entry, actor: { ...entry.actor } })));
      tree = appendLeaves(tree, leaves).tree;
    };
    const measured = await alternate(
      {
        gap: async () => (await floorLoopOf(place, "C", script, signal)).medianGapMs,
        books: () => perCall(actions, keepBooks) / 1000,
      },
      rounds,
      signal,
    );
    return [
      figure("gap, floor C", "ms", measured.gap),
      figure("bookkeeping of one action", "ms", measured.books),
      ratio("bookkeeping / floor C", measured.books, measured.gap, atMost(0.05)),
    ];
  },
};
