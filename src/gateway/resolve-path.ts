import type { Refusal } from "../domain/index.ts";
import type { PathResolution } from "../workspace/index.ts";
import type { ActionContext } from "./action-description.ts";
import { type Call, invalidArguments, notFound, outsideWorkspace, shellWord } from "./refusals.ts";

type Inside = Extract<PathResolution, { kind: "inside" }>;

/** Where a path leads now, or why the call can't go on. A missing file is for the caller to judge. */
export type Resolved =
  | { readonly kind: "inside"; readonly path: Inside }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export async function resolveFile(context: ActionContext, call: Call, path: string): Promise<Resolved> {
  const resolution = await context.workspace.resolve(path);
  if (resolution.kind === "outside") {
    return { kind: "refused", refusal: outsideWorkspace(call, path, resolution.cause) };
  }
  if (resolution.class === "folder") {
    const example = { tool: "find_files", arguments: { glob: "**/*", path: resolution.resolved || null } };
    return {
      kind: "refused",
      refusal: invalidArguments("path", path, "the path of a file; this is a folder", example),
    };
  }
  if (resolution.class === "other") {
    const example = { tool: "run_command", arguments: { command: `ls -la ${shellWord(path)}`, timeout_s: null } };
    return {
      kind: "refused",
      refusal: invalidArguments("path", path, "a regular file; this is neither file nor folder", example),
    };
  }
  return { kind: "inside", path: resolution };
}

export async function missingFile(context: ActionContext, call: Call, path: string): Promise<Refusal> {
  return notFound(call, path, await context.workspace.closeNames(path, 3));
}
