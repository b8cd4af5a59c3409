import { randomBytes } from "node:crypto";
import { isCountersignError } from "../../src/domain/index.ts";
import { openStore, type StoreOptions } from "../../src/store/index.ts";

/**
 * A process of its own that opens a store, says so, and keeps it until its input ends or SIGINT comes. Argument: the
 * options as JSON. Prints one JSON object a line: `notice`, `open`, `failed`, `closed`.
 */
const say = (line: { readonly kind: string; readonly [name: string]: unknown }): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};
const options = JSON.parse(process.argv[2] ?? "") as StoreOptions;
const deps = { randomBytes, notice: (line: string) => say({ kind: "notice", line }) };
const stop = new AbortController();
process.on("SIGINT", () => stop.abort(new Error("interrupted")));
process.stdin.on("end", () => stop.abort(new Error("no more input")));
process.stdin.resume();

try {
  const store = await openStore(deps, options, stop.signal);
  say({ kind: "open", address: store.address });
  if (!stop.signal.aborted) await new Promise((done) => stop.signal.addEventListener("abort", done));
  await store[Symbol.asyncDispose]();
  say({ kind: "closed" });
} catch (error) {
  const code = isCountersignError(error) ? error.code : "";
  say({ kind: "failed", code, message: error instanceof Error ? error.message : "" });
}
process.stdin.destroy();
