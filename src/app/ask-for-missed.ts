import { openAppDeliveries } from "../github/index.ts";
import { pruneDeliveries, redeliverMissed } from "../intake/index.ts";
import { delay } from "./delay.ts";
import type { Records } from "./open-records.ts";
import type { CountersignDeps } from "./settings.ts";

type Asking = Pick<Records, "store" | "ledger"> & {
  readonly deps: CountersignDeps;
  readonly hooks: { readonly onTrouble: (line: string, error: unknown) => void };
};

const hourMs = 3_600_000;

/**
 * At the start and each hour: asks GitHub for the deliveries that it could not make, since it makes none again by itself
 * (GH-32), and forgets the keys of old ones. What fails is told and tried an hour later.
 */
export function askForMissed(
  { deps, store, ledger, hooks }: Asking,
  github: Parameters<typeof openAppDeliveries>[1],
): AsyncDisposable {
  const stop = new AbortController();
  const hook = openAppDeliveries({ clock: deps.clock, delay, redactor: deps.redactor }, github);
  const ask = async (): Promise<void> => {
    try {
      await pruneDeliveries({ store, clock: deps.clock });
      const wanted = { store, ledger, clock: deps.clock, listDeliveries: hook.list, redeliver: hook.redeliver };
      const { asked, refused } = await redeliverMissed(wanted, stop.signal);
      if (refused > 0) deps.notice(`GitHub refused to send ${refused} of ${asked} missed deliveries again`);
    } catch (error) {
      if (!stop.signal.aborted) hooks.onTrouble("deliveries that were missed could not be asked for", error);
    }
  };
  let asking = ask();
  const timer = setInterval(() => {
    asking = ask();
  }, hourMs);
  timer.unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      stop.abort();
      await asking;
    },
  };
}
