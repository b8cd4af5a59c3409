import { z } from "zod";
import { type Checkpoint, CountersignError, parseStrictJson } from "../domain/index.ts";
import { verifyStored } from "../ledger/index.ts";
import { type CliDeps, printJson } from "./cli-deps.ts";
import { readInput } from "./read-input.ts";
import { plain } from "./terminal.ts";

const CheckpointFile = z.strictObject({ origin: z.string(), size: z.int().nonnegative(), rootHash: z.base64() });

export async function verify(deps: CliDeps, files: readonly string[], isJson: boolean): Promise<number> {
  const checkpoints = await Promise.all(files.map((file) => readCheckpoint(deps, file)));
  await using records = await deps.openRecords();
  const { ok, size, rootHash, reach, findings } = await verifyStored(records, checkpoints);
  if (isJson) {
    const rows = findings.map(({ code, index, message }) => ({ code, index, message }));
    printJson(deps.terminal, { ok, size, root_hash: rootHash, reach, findings: rows });
    return ok ? 0 : 1;
  }
  const lines = [
    `${ok ? "verified" : "BROKEN"}: ${size} entries, root ${rootHash}`,
    reach === null
      ? "no earlier checkpoint was given (--checkpoint): neither a cut end nor a rewritten history can be excluded"
      : `extends the checkpoint of size ${reach}`,
    ...findings.map(({ code, index, message }) => `  ${code} at ${index ?? "-"}: ${message}`),
    "",
  ];
  deps.terminal.out(plain(lines.join("\n")));
  return ok ? 0 : 1;
}

async function readCheckpoint(deps: CliDeps, file: string): Promise<Checkpoint> {
  const text = await readInput(deps, file);
  const parsed = CheckpointFile.safeParse(parseOrNull(text));
  if (parsed.success) return parsed.data;
  throw new CountersignError("USAGE", `\`${file}\` is no checkpoint: expected \`{"origin", "size", "rootHash"}\``);
}

function parseOrNull(bytes: Uint8Array): unknown {
  const gate = parseStrictJson(bytes);
  return gate.kind === "value" ? gate.value : null;
}
