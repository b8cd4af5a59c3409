import { newRunId } from "../../domain/index.ts";
import { alternate, timed } from "../alternate.ts";
import { figure, quantile, ratio, type Size } from "../figure.ts";
import { committedBytes } from "../floor-database.ts";
import { actionEntries, anEntry } from "../sample-entries.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 20, bench: 1_000, soak: 10_000 };

/** `audit.md` §12: what one durable append takes, beside one committed insert through the driver alone. */
export const appendRow: Row = {
  name: "append",
  title: "a durable append beside a committed insert",
  measure: async (place, size, signal) => {
    const rounds = sizes[size];
    const { ledger, keys } = await place.runs();
    const database = await place.database();
    const runId = newRunId(place.deps);
    await keys.createRun(runId);
    const lease = { runId, fencingToken: 1 };
    const measured = await alternate(
      {
        insert: () => timed(() => database.commit(committedBytes)),
        append: () => timed(() => ledger.append(lease, { entries: [anEntry(runId)], sealed: [] })),
        action: () => timed(() => ledger.append(lease, { entries: actionEntries(place.deps, runId), sealed: [] })),
      },
      rounds,
      signal,
    );
    const entriesEach = actionEntries(place.deps, runId).length;
    const rates = measured.action.map((tookMs) => (1000 * entriesEach) / tookMs);
    return [
      figure("committed insert", "ms", measured.insert),
      figure("append of one entry", "ms", measured.append),
      figure("append of one entry, 99th percentile", "ms", [quantile(measured.append, 0.99)]),
      figure("append of an action's six entries", "ms", measured.action),
      figure("entries in appends of six", "1/s", rates),
      ratio("append / insert", measured.append, measured.insert),
    ];
  },
};
