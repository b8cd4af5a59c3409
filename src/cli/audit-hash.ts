import {
  argumentsDigest,
  CountersignError,
  canonicalBytes,
  late,
  parseRunId,
  parseStrictJson,
} from "../domain/index.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { readInput } from "./read-input.ts";

const showRun = late(async () => (await import("../ledger/index.ts")).showRun);

type HashOptions = { readonly json?: true; readonly run?: string };

export async function hash(deps: CliDeps, file: string, options: HashOptions): Promise<void> {
  const gate = parseStrictJson(await readInput(deps, file));
  if (gate.kind === "refused") {
    throw new CountersignError("USAGE", `\`${file}\` is not plain JSON: ${gate.code} at offset ${gate.position}`);
  }
  const canonical = canonicalBytes(gate.value);
  const digest = options.run === undefined ? null : await digestInRun(deps, options.run, canonical);
  if (options.json) {
    return printJson(deps.terminal, { canonical_bytes: canonical.byteLength, arguments_digest: digest });
  }
  deps.terminal.out(`${canonical.byteLength} bytes in canonical form\n${digest === null ? "" : `${digest}\n`}`);
}

async function digestInRun(deps: CliDeps, run: string, canonical: Uint8Array): Promise<string> {
  const runId = parseRunId(run);
  const unknown = new CountersignError("NOT_FOUND", `there is no run \`${run}\` in the ledger`);
  if (runId === null) throw unknown;
  await using records = await deps.openRecords();
  const runKey = await records.keys.runKey(runId).catch(async (error: unknown) => {
    throw (await showRun(records.store, runId)) === null ? unknown : error; // a run of ours may have lost its keys
  });
  return argumentsDigest(runKey, canonical);
}
