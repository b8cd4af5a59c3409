import type { Socket } from "node:net";
import type { AddressRange } from "./dialable-address.ts";

/** How the world is reached: names to addresses, addresses to connections. */
export type Reach = {
  /** All addresses of a host. Asked once for each connection. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Rejects where nobody answers there. */
  readonly dial: (address: string, port: number, signal: AbortSignal) => Promise<Socket>;
  /** Every address that this machine has. Throws where the system does not tell. */
  readonly ownAddresses: () => readonly string[];
};

export type ProxyLimits = {
  /** At once; one more is turned away. */
  readonly connections: number;
  /** Of all connections together, both ways. */
  readonly bytes: number;
  /** A request must be whole, and its host have answered, within this time. */
  readonly answerMs: number;
  /** A connection without a byte for this long is cut. */
  readonly idleMs: number;
};

/** Four times what npm opens to one host at once. */
export const usualProxyLimits = { connections: 64, answerMs: 30_000, idleMs: 120_000 } as const;

export type ProxyRules = {
  /** Lower-case host names; no other one is dialed. */
  readonly hosts: ReadonlySet<string>;
  /** The host that may lie at addresses that are not public, and where. */
  readonly internal: { readonly host: string; readonly range: AddressRange } | null;
  readonly limits: ProxyLimits;
};
