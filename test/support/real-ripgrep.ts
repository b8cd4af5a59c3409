import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import type { ExecResult } from "../../src/domain/index.ts";
import type { ExecRequest } from "../../src/workspace/index.ts";
import { anExecResult } from "./fake-workspace.ts";

/** Runs the real ripgrep, or bash, on the files of a fake workspace, in a folder that is gone afterwards. */
export function runOnFiles(request: ExecRequest, files: ReadonlyMap<string, Uint8Array>): ExecResult {
  const folder = mkdtempSync(join(tmpdir(), "files-"));
  try {
    for (const [path, bytes] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    const { program } = request;
    const argv =
      program.kind === "argv" ? [rgPath, ...program.argv.slice(1)] : ["bash", "-c", `exec 2>&1\n${program.script}`];
    const run = spawnSync(argv[0] ?? "", argv.slice(1), {
      cwd: folder,
      timeout: request.timeoutMs,
      maxBuffer: 64 * 1024 * 1024,
    });
    return anExecResult(Buffer.concat([run.stdout, run.stderr]), { exitCode: run.status, signal: run.signal });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
