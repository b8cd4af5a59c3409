import type { PathFact } from "../domain/index.ts";
import type { AuthorizationRequest } from "./authorization-request.ts";
import { foldedNames, resolveNames } from "./fold-path.ts";

/** Raised with every change of what the floor denies; stands in each decision (AUD-25). */
export const floorVersion = "2";

/** What the floor says where it denies. */
export type FloorDenial = { readonly policyId: `floor:${string}`; readonly advice: string };

/** Writes to GitHub (AUD-19): the host's alone. Merging, approving and dismissing a review are no tools, so they are unknown. */
const githubWrites: ReadonlySet<string> = new Set([
  "push_commit",
  "open_pull_request",
  "update_pull_request",
  "create_comment",
  "update_comment",
  "set_check_run",
  "add_label",
  "remove_label",
  "delete_branch",
  "add_reaction",
]);

const advice = {
  unknown_tool: "no such tool; use one of the catalogue",
  foreign_run: "an action may only be proposed by the run that this gateway serves",
  github_write: "only the service itself writes to GitHub; finish the work in the checkout",
  answer_by_nobody: "only a person answers a question, and a person does nothing else here",
  foreign_repository: "only the run's own repository may be written",
  foreign_branch: "only the run's own branch may be written",
  force_without_sha: "a forced push must name the commit that it replaces",
  malformed_path: "use a repository-relative path with `/`, without NUL, backslash or a way out of the repository",
  git_folder: "`.git` can't be read or changed; use the file tools on the working tree",
  github_workflows: "workflows can't be changed by a run; describe the change that a person should make",
  github_actions: "repository actions can't be changed by a run; describe the change that a person should make",
  countersign_settings: "a run can't change its own settings; describe the change that a person should make",
} as const;

const deny = (name: keyof typeof advice): FloorDenial => ({ policyId: `floor:${name}`, advice: advice[name] });

/**
 * The part of the policy that no policy can widen (AUD-23): pure, looks at one request, null where it has nothing against it.
 * `tools` are the names of the catalogue.
 */
export function floorDenial(request: AuthorizationRequest, tools: ReadonlySet<string>): FloorDenial | null {
  if (!tools.has(request.tool)) return deny("unknown_tool");
  if (request.principal.kind === "run" && request.principal.runId !== request.runId) return deny("foreign_run");
  if ((request.tool === "approve") !== (request.principal.kind === "person")) return deny("answer_by_nobody");
  const denial = githubWrites.has(request.tool) ? githubWriteDenial(request) : null;
  if (denial !== null) return denial;
  return request.path === null ? null : pathDenial(request.path);
}

function githubWriteDenial(request: AuthorizationRequest): FloorDenial | null {
  const { principal, input, repository, runBranch, runRepositoryId = repository.id } = request;
  if (principal.kind !== "system") return deny("github_write");
  if (repository.id !== runRepositoryId) return deny("foreign_repository");
  const { branch, force, expected_sha: expectedSha } = input;
  if (typeof branch === "string" && branch !== runBranch) return deny("foreign_branch");
  const namesSha = typeof expectedSha === "string" && expectedSha !== "";
  return force === true && !namesSha ? deny("force_without_sha") : null;
}

/** Both spellings are looked at: as asked for, and where the checkout's links lead. */
function pathDenial(path: PathFact): FloorDenial | null {
  const { requested, resolved, kind } = path;
  const spellings = requested === resolved ? [resolved] : [requested, resolved];
  if (spellings.some(isMalformed) || !isNormal(resolved)) return deny("malformed_path");
  for (const spelling of spellings) {
    const denial = nameDenial(foldedNames(spelling) ?? [], kind !== "read_path");
    if (denial !== null) return denial;
  }
  return null;
}

/** AUD-22: a path that was not made safe before the decision is none. */
function isMalformed(path: string): boolean {
  return /[\0\\]/.test(path) || path.startsWith("/") || !path.isWellFormed() || resolveNames(path) === null;
}

function isNormal(resolved: string): boolean {
  return resolved === "." || resolved === (resolveNames(resolved) ?? []).join("/");
}

/** Reading a workflow is a read in the checkout like any other (AUD-28); `.git` is closed to both. */
function nameDenial(names: readonly string[], changes: boolean): FloorDenial | null {
  if (names.some(isGitFolder)) return deny("git_folder");
  if (!changes || names[0] !== ".github") return null;
  if (names[1] === "workflows") return deny("github_workflows");
  if (names[1] === "actions") return deny("github_actions");
  if (names[1] === "countersign.yml") return deny("countersign_settings");
  return null;
}

/** Also NTFS' short name and streams, as git's own `core.protectNTFS` reads them. The name is folded already. */
const isGitFolder = (name: string): boolean => /^(\.git|git~\d+)[. ]*(:.*)?$/u.test(name);
