import { newActionId } from "../../domain/index.ts";
import { perform } from "../../gateway/index.ts";
import { alternate, timed } from "../alternate.ts";
import { atMost, figure, ratio, type Size } from "../figure.ts";
import { committedBytes } from "../floor-database.ts";
import { openGateway } from "../open-gateway.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 5, bench: 500, soak: 5_000 };

/** `performance.md` §5: everything around an action that does nothing. */
export const performRow: Row = {
  name: "perform",
  title: "an action that does nothing beside two committed inserts",
  measure: async (place, size, signal) => {
    const database = await place.database();
    await using gateway = await openGateway(place, signal);
    const act = async (): Promise<void> => {
      const outcome = await perform(gateway.deps, gateway.run, propose(), signal);
      if (outcome.state !== "succeeded") throw new Error(`the empty action ended as ${outcome.state}: ${outcome.text}`);
    };
    const propose = () => ({
      actionId: newActionId(place.deps),
      runId: gateway.run.runId,
      principal: { kind: "run", runId: gateway.run.runId } as const,
      tool: "finish",
      rawArguments: '{"title":"Measured","summary":"Measured."}',
      call: null,
      compensates: null,
    });
    const measured = await alternate(
      {
        inserts: () =>
          timed(async () => {
            await database.commit(committedBytes);
            await database.commit(committedBytes);
          }),
        perform: () => timed(act),
      },
      sizes[size],
      signal,
    );
    return [
      figure("two committed inserts", "ms", measured.inserts),
      figure("perform around an empty action", "ms", measured.perform),
      ratio("perform / two inserts", measured.perform, measured.inserts, atMost(2.5)),
    ];
  },
};
