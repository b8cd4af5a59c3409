import { alternate, timed } from "../alternate.ts";
import { atMost, figure, ratio, type Size } from "../figure.ts";
import { bashCommand, printed } from "../floor-loop.ts";
import { openGateway } from "../open-gateway.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, number>> = { short: 2, bench: 100, soak: 1_000 };

/** `performance.md` §4: watch, limits, pipes and the supervisor around one sandbox. */
export const sandboxRow: Row = {
  name: "sandbox",
  title: "one command in a sandbox of its own beside bare bubblewrap",
  measure: async (place, size, signal) => {
    const { prefix, owner } = await place.sandbox();
    await using gateway = await openGateway(place, signal);
    const { workspace } = gateway.run;
    const request = { program: { kind: "shell", script: "true" }, timeoutMs: 60_000 } as const;
    const measured = await alternate(
      {
        bare: () => timed(() => printed([...prefix, ...bashCommand("true")], owner ?? {})),
        command: () => timed(() => workspace.exec(request, signal)),
      },
      sizes[size],
      signal,
    );
    return [
      figure("bare bubblewrap with the same flags", "ms", measured.bare),
      figure("one command in the product's sandbox", "ms", measured.command),
      ratio("command / bare", measured.command, measured.bare, atMost(1.3)),
    ];
  },
};
