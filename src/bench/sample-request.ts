import { type IdSource, newRunId } from "../domain/index.ts";
import type { AuthorizationRequest } from "../policy/index.ts";
import { readableFile } from "./model-script.ts";

/** What the gateway asks for an ordinary reading. */
export function readRequest(ids: IdSource): AuthorizationRequest {
  const runId = newRunId(ids);
  return {
    principal: { kind: "run", runId },
    requestedBy: { id: "local:bench", login: "bench", permission: "admin" },
    tool: "read_file",
    group: "read",
    risk: "SAFE",
    repository: { id: "local:0000000000000000", name: "bench" },
    runId,
    approved: false,
    runState: "in_progress",
    attempt: 0,
    budgetLeft: { steps: 90, tokens: 1_000_000, seconds: 3_000 },
    effects: ["read_path"],
    path: { requested: readableFile, resolved: readableFile, class: "file", symlink: false, kind: "read_path" },
    input: { path: readableFile, line_from: 1, line_count: 5 },
  };
}
