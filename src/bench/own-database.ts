import { openStore } from "../store/index.ts";
import type { BenchPlace } from "./bench-place.ts";
import { type FloorDatabase, openFloorDatabase } from "./floor-database.ts";

/** A database of this name in the server of the measurements, with the product's tables. */
export async function openOwnDatabase(place: BenchPlace, name: string, signal: AbortSignal): Promise<FloorDatabase> {
  await using undo = new AsyncDisposableStack();
  const url = new URL((await place.database()).url); // the server runs from here on
  const options = { databaseUrl: null, home: place.home, databaseUid: null, database: name };
  undo.use(await openStore(place.deps, options, signal));
  url.pathname = `/${name}`;
  const database = undo.use(await openFloorDatabase(url.href));
  const close = undo.move();
  return { ...database, [Symbol.asyncDispose]: () => close.disposeAsync() };
}
