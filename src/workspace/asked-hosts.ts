import type { HelloRefusal } from "./client-hello.ts";
import type { RequestRefusal } from "./connect-request.ts";
import type { AddressRefusal } from "./dialable-address.ts";

/** What became of a connection that was asked for. `bytes_limit`: it was led on, and cut when all had too many bytes. */
export type AskOutcome =
  | "led_on"
  | RequestRefusal
  | AddressRefusal
  | HelloRefusal
  | "not_listed"
  | "not_resolved"
  | "not_reached"
  | "too_many"
  | "bytes_limit";

/** `host` is as asked for, in lower case; null where no name could be read of the request, or where there were too many. */
export type AskedHost = { readonly host: string | null; readonly outcome: AskOutcome; readonly count: number };

export type AskedHosts = {
  readonly note: (host: string | null, outcome: AskOutcome) => void;
  readonly list: () => readonly AskedHost[];
};

/** Names are the asker's text: what is kept of them has an end. */
const keptAtMost = 100;

/** Every host that was asked for, with what became of it, in the order of the first time (SEC-67). */
export function createAskedHosts(): AskedHosts {
  const kept = new Map<string, AskedHost>();
  const keyOf = (host: string | null, outcome: AskOutcome): string => `${host ?? ""} ${outcome}`;
  return {
    note: (host, outcome) => {
      const isNew = !kept.has(keyOf(host, outcome));
      const name = isNew && kept.size >= keptAtMost ? null : host;
      const key = keyOf(name, outcome);
      kept.set(key, { host: name, outcome, count: (kept.get(key)?.count ?? 0) + 1 });
    },
    list: () => [...kept.values()],
  };
}
