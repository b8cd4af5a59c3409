import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { CountersignError, type JsonObject } from "../domain/index.ts";
import { type BaseFiles, deriveVerify } from "./derive-verify.ts";
import { describeIssue } from "./describe-issue.ts";
import type { OperatorSettings } from "./operator-settings.ts";
import type { ForbidText } from "./repository-policies.ts";
import { parseStrictYaml, type StrictYaml } from "./strict-yaml.ts";

/** Where a repository's settings stand, on its default branch alone. */
export const settingsPath = ".github/countersign.yml";

/** GH-130. */
const largestBytes = 64 * 1024;

const positive = z.int().positive();
const command = z.string().regex(/^[^\0]*\S[^\0]*$/, { error: "a command" });

/** A trailing slash is a habit and no fault. */
function isFolderName(folder: string): boolean {
  const names = folder.replace(/\/$/, "").split("/");
  return !/[\\\0]/.test(folder) && names.every((name) => !["", ".", "..", ".git"].includes(name.toLowerCase()));
}

/** GH-130: the file as written. */
const RepositoryFile = z.strictObject({
  version: z.literal(1),
  setup: z
    .union([
      z.literal("none"),
      z.strictObject({
        run: command,
        timeout_s: positive.optional(),
        network: z.enum(["none", "registries"]).default("none"),
      }),
    ])
    .optional(),
  verify: z
    .union([
      z.literal("none"),
      z.strictObject({
        run: command,
        timeout_s: positive.optional(),
        filter: command
          .refine((text) => text.includes("{filter}"), { error: "a command with `{filter}` in it" })
          .optional(),
      }),
    ])
    .optional(),
  limits: z
    .strictObject({
      minutes: positive.optional(),
      turns: positive.optional(),
      input_tokens: positive.optional(),
      output_tokens: positive.optional(),
      files: positive.optional(),
      lines: positive.optional(),
    })
    .prefault({}),
  build_output: z
    .array(z.string().refine(isFolderName, { error: "a folder of the repository, without `.`, `..` or `.git`" }))
    .max(100)
    .default([]),
  comments: z.enum(["all", "writers"]).default("all"),
  on_failure: z.enum(["patch", "branch"]).default("patch"),
  draft: z.enum(["until_verified", "always"]).default("until_verified"),
  follow_checks: z.strictObject({ per_head: positive.optional(), per_pull_request: positive.optional() }).optional(),
  forbid: z.array(z.string()).max(100).default([]),
});
type RepositoryFile = z.infer<typeof RepositoryFile>;

/** The command that tells whether the work is right. */
export type VerifySettings = {
  readonly run: string;
  readonly timeoutMs: number;
  /** The command for a part of the tests, with `{filter}` where the part goes; null where the settings name none. */
  readonly filter: string | null;
  /** True where the repository says nothing and its manifest was asked (GH-131). */
  readonly derived: boolean;
};

/** What holds for a run: the repository's wishes, each cut to the operator's bound. */
export type RepositorySettings = {
  /** `derived`: there is no settings file. */
  readonly source: "file" | "derived";
  readonly setup: { readonly run: string; readonly timeoutMs: number; readonly network: "none" | "registries" } | null;
  /** Null: nothing to run was found or wanted, and the run can't prove its work. */
  readonly verify: VerifySettings | null;
  readonly limits: OperatorSettings["limits"];
  /** Folders that the read-back doesn't enter. */
  readonly buildOutput: readonly string[];
  readonly comments: "all" | "writers";
  readonly onFailure: "patch" | "branch";
  readonly draft: "until_verified" | "always";
  /** For `compileRepositoryPolicies`. */
  readonly forbid: readonly ForbidText[];
};

/**
 * The settings of a repository from the files of its base commit, never from a work tree (SEC-34). Throws `SETTINGS_INVALID`
 * with line and reason; a repository without the file gets defaults and a verify command derived from its manifest.
 */
export async function loadRepositorySettings(base: BaseFiles, operator: OperatorSettings): Promise<RepositorySettings> {
  const bytes = await base.read(settingsPath);
  const settings = bytes === null ? withDefaults(operator) : parseRepositorySettings(bytes, operator);
  if (settings.verify !== "derive") return { ...settings, verify: settings.verify };
  const run = await deriveVerify(base);
  const verify = run === null ? null : { run, timeoutMs: operator.verify.timeoutMs, filter: null, derived: true };
  return { ...settings, verify };
}

/** Settings of a file that may leave the verify command to the manifest. */
export type ParsedSettings = Omit<RepositorySettings, "verify"> & { readonly verify: VerifySettings | null | "derive" };

/** Reads one settings file. Pure. Throws `SETTINGS_INVALID` with line and reason. Policies in `forbid` are checked elsewhere. */
export function parseRepositorySettings(bytes: Uint8Array, operator: OperatorSettings): ParsedSettings {
  if (bytes.length > largestBytes) throw invalid(1, `${bytes.length} bytes, expected at most ${largestBytes}`);
  if (!isUtf8(bytes)) throw invalid(1, "the bytes are no UTF-8");
  const yaml = parseStrictYaml(Buffer.from(bytes).toString("utf8"));
  if (yaml.kind === "refused") {
    const { line, column, reason } = yaml.problem;
    throw invalid(line, `column ${column}: ${reason}`, { column });
  }
  const parsed = RepositoryFile.safeParse(yaml.value, { reportInput: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues.map(describeIssue);
    throw invalid(yaml.lineOf(issue?.path ?? []), issue?.text ?? "not as described");
  }
  return bound(parsed.data, operator, yaml);
}

function invalid(line: number, reason: string, details: JsonObject = {}): CountersignError {
  return new CountersignError("SETTINGS_INVALID", `\`${settingsPath}\`, line ${line}: ${reason}`, {
    details: { line, ...details },
  });
}

const withDefaults = (operator: OperatorSettings): ParsedSettings => ({
  ...bound(RepositoryFile.parse({ version: 1 }), operator, null),
  source: "derived",
});

/** INVARIANT: nothing a repository writes gives it more than the operator's bound (test/policy/repository-settings.test.ts). */
function bound(file: RepositoryFile, operator: OperatorSettings, yaml: Extract<StrictYaml, { kind: "parsed" }> | null) {
  const smaller = (own: number | undefined, most: number): number => Math.min(own ?? most, most);
  const { limits, setup, verify } = file;
  const settings: ParsedSettings = {
    source: "file",
    setup:
      setup === undefined || setup === "none"
        ? null
        : {
            run: setup.run,
            timeoutMs: smaller(seconds(setup.timeout_s), operator.setup.timeoutMs),
            network: operator.setup.network === "none" ? "none" : setup.network,
          },
    verify: boundVerify(verify, operator.verify.timeoutMs),
    limits: {
      minutes: smaller(limits.minutes, operator.limits.minutes),
      turns: smaller(limits.turns, operator.limits.turns),
      inputTokens: smaller(limits.input_tokens, operator.limits.inputTokens),
      outputTokens: smaller(limits.output_tokens, operator.limits.outputTokens),
      files: smaller(limits.files, operator.limits.files),
      lines: smaller(limits.lines, operator.limits.lines),
    },
    buildOutput: file.build_output.map((folder) => folder.replace(/\/$/, "")),
    comments: file.comments,
    onFailure: operator.onFailure === "patch" ? "patch" : file.on_failure,
    draft: operator.draft === "always" ? "always" : file.draft,
    forbid: file.forbid.map((text, index) => ({ text, line: yaml?.lineOf(["forbid", index]) ?? 1 })),
  };
  return settings;
}

const seconds = (value: number | undefined): number | undefined => (value === undefined ? undefined : value * 1000);

function boundVerify(verify: RepositoryFile["verify"], mostMs: number): ParsedSettings["verify"] {
  if (verify === undefined) return "derive";
  if (verify === "none") return null;
  const timeoutMs = Math.min(seconds(verify.timeout_s) ?? mostMs, mostMs);
  return { run: verify.run, timeoutMs, filter: verify.filter ?? null, derived: false };
}
