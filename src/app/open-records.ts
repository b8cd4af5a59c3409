import { join } from "node:path";
import { type Keys, type Ledger, openKeys, openLedger } from "../ledger/index.ts";
import { makeHome, openStore, readEmbeddedPassword, type Store, sweepLeftovers } from "../store/index.ts";
import { inHome } from "./in-home.ts";
import type { CountersignDeps, CountersignSettings } from "./settings.ts";

/** What is on record. */
export type Records = AsyncDisposable & { readonly store: Store; readonly ledger: Ledger; readonly keys: Keys };

/** Opens database, keys and ledger. Leaves nothing behind where it throws. */
export function openRecords(
  deps: CountersignDeps,
  settings: CountersignSettings,
  signal: AbortSignal,
): Promise<Records> {
  return inHome(settings.home, () => open(deps, settings, signal));
}

async function open(deps: CountersignDeps, settings: CountersignSettings, signal: AbortSignal): Promise<Records> {
  await using undo = new AsyncDisposableStack();
  const { home, databaseUrl } = settings;
  for (const line of await sweepLeftovers(home)) deps.notice(line);
  const store = undo.use(await openStore(deps, { databaseUrl, home, databaseUid: null }, signal));
  await makeHome(home); // whoever comes first: run uids must be able to pass it (SEC-47)
  if (store.kind === "embedded") deps.redactor.learn(await readEmbeddedPassword(home));
  const keys = await openKeys(deps, join(home, "keys"));
  const ledger = await openLedger({ ...deps, steadyClock: () => performance.now(), store, keys });
  const close = undo.move();
  return { store, ledger, keys, [Symbol.asyncDispose]: () => close.disposeAsync() };
}
