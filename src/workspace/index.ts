/**
 * The checkout and its confinement: the mirror of a repository, a run's ephemeral tree, the sandbox around every command,
 * and the way back from the tree to a change set.
 * Door: `openBase`, `createWorkspace`, `renderPatch`, `prepareTools`, and the probe for `doctor --sandbox`.
 * Never: decides what may be done, talks to GitHub, or runs anything of a repository outside a sandbox. Host git touches
 * only mirrors of our own, and reads the repository typed by the user; no sandbox ever sees either.
 */
export type { AskedHost } from "./asked-hosts.ts";
export { readBaseFile } from "./base-tree.ts";
export { createWorkspace, type WorkspaceOptions } from "./create-workspace.ts";
export { defaultSearchPath, type Owner, type RegisterProcess, type WorkspaceDeps } from "./host.ts";
export { hostReach } from "./host-reach.ts";
export { type BaseSource, type OpenedBase, openBase, reopenBase } from "./mirror.ts";
export { type MissingProgram, missingProgram } from "./missing-program.ts";
export { renderPatch } from "./patch.ts";
export { prepareTools } from "./prepare-tools.ts";
export { type ProbeOptions, probeSandbox, type SandboxCheck } from "./probe-sandbox.ts";
export type { Reach } from "./proxy-rules.ts";
export { readRegistries } from "./registries.ts";
export { requireConfinement } from "./require-confinement.ts";
export { requireSandbox } from "./require-sandbox.ts";
export { parseRunUids, sandboxesAtOnce } from "./run-uids.ts";
export { anyRung, chooseRung, describeRung, groupParents, type Rung, type WantedRung } from "./rung.ts";
export { type SandboxLayout, sandboxFlags, searchPathInside, type Toolchain } from "./sandbox-flags.ts";
export { defaultSandboxLimits, type OutputMeter, type RungName, type SandboxLimits } from "./sandbox-limits.ts";
export { seccompFilter } from "./seccomp-filter.ts";
export type { SetupNetwork, SetupOptions } from "./setup-command.ts";
export { type RawCall, rawCall, readResults, systemCallProgram } from "./system-call-program.ts";
export { defaultTreeLimits, type TreeLimits } from "./tree-limits.ts";
export type {
  BaseTree,
  CheckoutKind,
  ExecRequest,
  FileRead,
  FileWrite,
  PathResolution,
  SetUpMark,
  SetupRequest,
  SetupResult,
  TreeReading,
  Workspace,
} from "./workspace.ts";
