import type { ActionGroup, Risk } from "../domain/index.ts";

/**
 * What somebody who steers the model can bring about (AUD-32), as far as policies can tell it apart. `write_protected` and
 * `publish_protected` are changes of paths with a protection, in the checkout and on the branch; `run_anything` is code of the
 * model's choice in the sandbox, `run_in_ci` the same on the project's own machines, where a push starts them.
 */
export const capabilities = [
  "read_code",
  "write_code",
  "create_files",
  "delete_files",
  "write_protected",
  "run_known_command",
  "run_anything",
  "network(registries)",
  "publish_branch",
  "publish_protected",
  "run_in_ci",
  "open_pull_request",
  "change_pull_request",
  "publish_text",
  "report_check",
  "change_labels",
  "react",
  "delete_branch",
] as const;
export type Capability = (typeof capabilities)[number];

/** One way of using an action: what it takes beforehand, and what it gives. */
export type CapabilityWay = {
  readonly needs?: readonly Capability[];
  /** The first one is what this way is by name: where no policy lets a way without needs go on alone, it counts as denied. */
  readonly grants: readonly [Capability, ...Capability[]];
  /** The way is a change of a path that has a protection, and so DANGEROUS. */
  readonly path?: "protected";
  /** Arguments that this way has, where the others differ. */
  readonly input?: Readonly<Record<string, string | boolean>>;
};

/** What `policy check` knows of an action: its place in the schema, its risk, and what it is good for. */
export type DescribedAction = {
  readonly name: string;
  readonly group: ActionGroup;
  readonly risk: Risk;
  readonly capabilities: readonly CapabilityWay[];
};

/** What the file tools give where the path has a protection. */
export const protectedWay: CapabilityWay = { grants: ["write_protected"], path: "protected" };
