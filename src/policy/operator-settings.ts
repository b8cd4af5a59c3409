import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { BlockList, isIP } from "node:net";
import path from "node:path";
import { z } from "zod";
import { CountersignError, isHostName, isSecretName, parseStrictJson } from "../domain/index.ts";
import { describeIssue } from "./describe-issue.ts";
import { parseStrictYaml } from "./strict-yaml.ts";

const count = (least: number, most: number) => z.int().min(least).max(most);
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const gibibyte = 1024 * mebibyte;
const tebibyte = 1024 * gibibyte;

/** SEC-44: never the whole system, a home, or where sockets, state and secrets lie. */
const closedFolders = /^\/($|(home|root|run|var|sys|proc|dev|etc|tmp|boot|workspace)(\/|$))/;
const folder = z
  .string()
  .refine((value) => path.isAbsolute(value) && path.normalize(value) === value && !value.endsWith("/"), {
    error: "an absolute path without `.`, `..` or a slash at its end",
  })
  .refine((value) => !closedFolders.test(value), {
    error: "a folder outside homes, /root, /run, /var, /sys and the like",
  });

/** ACI-56: names that never pass into a sandbox, whoever sets them. */
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "letters, digits and `_`" })
  .refine((value) => !isSecretName(value), {
    error: "a name without KEY, SECRET, TOKEN, PASSWORD, PASSWD, CREDENTIAL, AUTH, COOKIE, DSN",
  });
const variableValue = z
  .string()
  .max(4096)
  .regex(/^[^\0\r\n]*$/, { error: "one line" });

const limits = z
  .strictObject({
    minutes: count(1, 24 * 60).default(60),
    turns: count(1, 10_000).default(100),
    input_tokens: count(1, 1_000_000_000).default(3_000_000),
    output_tokens: count(1, 1_000_000_000).default(200_000),
    files: count(1, 50_000).default(20),
    lines: count(1, 10_000_000).default(800),
  })
  .transform((value) => ({
    minutes: value.minutes,
    turns: value.turns,
    inputTokens: value.input_tokens,
    outputTokens: value.output_tokens,
    files: value.files,
    lines: value.lines,
  }));

const sandbox = z
  .strictObject({
    work_bytes: count(mebibyte, tebibyte).default(2 * gibibyte),
    work_inodes: count(1_000, 100_000_000).default(400_000),
    memory_bytes: count(16 * mebibyte, 16 * tebibyte).default(4 * gibibyte),
    processes: count(8, 65_536).default(512),
    file_bytes: count(kibibyte, tebibyte).default(gibibyte),
    open_files: count(64, 1_048_576).default(4096),
    output_bytes: count(kibibyte, tebibyte).default(256 * mebibyte),
    run_output_bytes: count(kibibyte, tebibyte).default(2 * gibibyte),
    idle_s: count(1, 24 * 3600).default(300),
    cpus: z.number().min(0.01).max(4096).optional(),
    rung: z.enum(["cgroup_v2", "cgroup_v1", "prlimit"]).default("prlimit"),
    cgroup: z
      .string()
      .regex(/^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/, { error: "an absolute path without `.`, `..` or a slash at its end" })
      .optional(),
    network: z.literal("none").default("none"),
    read_only_binds: z.array(folder).max(32).default([]),
    path: z.array(folder).max(32).default([]),
    environment: z.record(variableName, variableValue).default({}),
  })
  .transform((value) => ({
    workBytes: value.work_bytes,
    workInodes: value.work_inodes,
    memoryBytes: value.memory_bytes,
    processes: value.processes,
    fileBytes: value.file_bytes,
    openFiles: value.open_files,
    outputBytes: value.output_bytes,
    runOutputBytes: value.run_output_bytes,
    idleMs: value.idle_s * 1000,
    /** Null: all that the machine has. */
    cpus: value.cpus ?? null,
    /** The least that will do (SEC-53). */
    rung: value.rung,
    /** The delegated folder of the unified hierarchy, where the service can't find it itself. */
    cgroupFolder: value.cgroup ?? null,
    network: value.network,
    readOnlyBinds: value.read_only_binds,
    path: value.path,
    environment: value.environment,
  }));

const tree = z
  .strictObject({
    files: count(1, 10_000_000).default(50_000),
    total_bytes: count(1, 16 * tebibyte).default(gibibyte),
    file_bytes: count(1, tebibyte).default(50 * mebibyte),
    path_bytes: count(1, 4096).default(4096),
    levels: count(1, 1024).default(64),
  })
  .transform((value) => ({
    files: value.files,
    totalBytes: value.total_bytes,
    fileBytes: value.file_bytes,
    pathBytes: value.path_bytes,
    levels: value.levels,
  }));

const commit = z
  .strictObject({
    binary_kinds: z
      .array(z.string().regex(/^\.[A-Za-z0-9.]{1,16}$/, { error: "the end of a name, such as `.png`" }))
      .max(64)
      .default([]),
    joiners_below: z
      .array(
        z.string().regex(/^([^/]+(\/[^/]+)*)?$/, { error: "a folder of the repository without a slash at its end" }),
      )
      .max(64)
      .default([]),
  })
  .transform((value) => ({ binaryKinds: value.binary_kinds, joinersBelow: value.joiners_below }));

const price = z.number().nonnegative();
const model = z
  .strictObject({
    context_tokens: count(1_024, 100_000_000).optional(),
    prices: z
      .strictObject({ input: price, output: price, cached_input: price.optional(), cache_write: price.optional() })
      .optional(),
  })
  .transform((value) => ({
    contextTokens: value.context_tokens ?? null,
    pricesUsdPerMillion:
      value.prices === undefined
        ? null
        : {
            input: value.prices.input,
            output: value.prices.output,
            cachedInput: value.prices.cached_input ?? value.prices.input,
            cacheWrite: value.prices.cache_write ?? value.prices.input,
          },
  }));

const webhook = z
  .strictObject({ body_bytes: count(kibibyte, 25 * mebibyte).default(mebibyte) })
  .transform((value) => ({ bodyBytes: value.body_bytes }));

const cap = (hour: number, day: number) =>
  z.strictObject({ hour: count(1, 1_000_000).default(hour), day: count(1, 1_000_000).default(day) }).prefault({});
const caps = z
  .strictObject({
    runs_per_issue: cap(5, 20),
    runs_per_repository: cap(30, 200),
    runs_per_sender: cap(30, 200),
    tokens_per_day: count(1, 1_000_000_000_000_000).default(1_000_000_000),
    failures_per_repository: z
      .strictObject({ in_a_row: count(1, 1_000).default(5), minutes: count(1, 7 * 24 * 60).default(60) })
      .prefault({}),
  })
  .transform((value) => ({
    runsPerIssue: value.runs_per_issue,
    runsPerRepository: value.runs_per_repository,
    runsPerSender: value.runs_per_sender,
    tokensPerDay: value.tokens_per_day,
    failuresPerRepository: {
      inARow: value.failures_per_repository.in_a_row,
      minutes: value.failures_per_repository.minutes,
    },
  }));

/** GitHub's numeric ids: names can be given up and taken by others. */
const githubIds = z.array(count(1, Number.MAX_SAFE_INTEGER)).max(1_000).default([]);

const hostName = z
  .string()
  .refine(isHostName, { error: "a host name in lower case, without scheme, port and path, and no address" });

/** CIDR notation, as `10.20.0.0/16` or `fd00:1::/32`. */
const addressRange = z.string().refine(isAddressRange, { error: "a range of addresses such as `10.20.0.0/16`" });

function isAddressRange(text: string): boolean {
  const [, address = "", prefix] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(text) ?? [];
  if (isIP(address) === 0) return false;
  try {
    new BlockList().addSubnet(address, Number(prefix), isIP(address) === 6 ? "ipv6" : "ipv4");
    return true;
  } catch {
    return false; // a prefix that is too long
  }
}

const setup = z
  .strictObject({
    timeout_s: count(1, 24 * 3600).default(600),
    network: z.enum(["none", "registries"]).default("none"),
    hosts: z.array(hostName).max(32).default([]),
    internal_host: z.strictObject({ host: hostName, addresses: addressRange }).optional(),
    bytes: count(mebibyte, tebibyte).default(2 * gibibyte),
    install_scripts: z.boolean().default(false),
  })
  .transform((value) => ({
    timeoutMs: value.timeout_s * 1000,
    network: value.network,
    /** Beside those that the package managers of this machine report (SEC-68). */
    hosts: value.hosts,
    /** The one host that may lie at addresses that are not public (SEC-67). */
    internalHost: value.internal_host ?? null,
    bytes: value.bytes,
    installScripts: value.install_scripts,
  }));

const fiveMinutes = 5;
const sevenDays = 7 * 24 * 60;

/** AUD-52: no setting lets an action go on without its entry. */
const failurePolicy = z.enum(["fail_operation", "shutdown"]);

/** The file as written, and what it means: a key left out has the value of the shipped set `standard`. */
const OperatorFile = z
  .strictObject({
    failure_policy: failurePolicy.default("fail_operation"),
    failure_policy_by_risk: z
      .strictObject({
        safe: failurePolicy.optional(),
        restricted: failurePolicy.optional(),
        dangerous: failurePolicy.optional(),
      })
      .prefault({}),
    kill_switch: z.enum(["running", "paused"]).default("running"),
    webhook: webhook.prefault({}),
    allowed_bots: githubIds,
    permitted_forks: githubIds,
    caps: caps.prefault({}),
    approvals: z
      .strictObject({ expire_after_minutes: count(fiveMinutes, sevenDays).default(24 * 60) })
      .prefault({})
      .transform((value) => ({ expireAfterMinutes: value.expire_after_minutes })),
    concurrency: z
      .strictObject({
        runs_per_process: count(1, 1_000).optional(),
        runs_per_installation: count(1, 1_000).default(4),
        runs_per_repository: count(1, 1_000).default(1),
      })
      .prefault({})
      .transform((value) => ({
        /** Null: twice `runsPerInstallation`. */
        runsPerProcess: value.runs_per_process ?? null,
        runsPerInstallation: value.runs_per_installation,
        runsPerRepository: value.runs_per_repository,
      })),
    limits: limits.prefault({}),
    setup: setup.prefault({}),
    verify: z
      .strictObject({ timeout_s: count(1, 24 * 3600).default(900) })
      .prefault({})
      .transform((value) => ({ timeoutMs: value.timeout_s * 1000 })),
    commit: commit.prefault({}),
    on_failure: z.enum(["patch", "branch"]).default("patch"),
    draft: z.enum(["until_verified", "always"]).default("until_verified"),
    sandbox: sandbox.prefault({}),
    tree: tree.prefault({}),
    model: model.prefault({}),
  })
  .transform(({ failure_policy, failure_policy_by_risk, kill_switch, ...rest }) => ({
    ...rest,
    /** What is done where an action of that risk can't be recorded. */
    failurePolicy: {
      SAFE: failure_policy_by_risk.safe ?? failure_policy,
      RESTRICTED: failure_policy_by_risk.restricted ?? failure_policy,
      DANGEROUS: failure_policy_by_risk.dangerous ?? failure_policy,
    },
    /** How the kill switch stands at the first start of a database. */
    killSwitch: kill_switch,
  }))
  .transform(({ on_failure, allowed_bots, permitted_forks, ...same }) => ({
    ...same,
    allowedBots: allowed_bots,
    permittedForks: permitted_forks,
    onFailure: on_failure,
  }));

/**
 * What the operator sets, from `operator.json` (AUD-90), with the units in the names. Limits, timeouts, `onFailure` and
 * `draft` are both the default and the upper bound of what a repository may set.
 */
export type OperatorSettings = z.infer<typeof OperatorFile>;

/** Reads the text of an `operator.json`; `file` is named in messages. Throws `CONFIG_INVALID` with file, key, got, expected. */
export function parseOperatorSettings(text: string, file: string): OperatorSettings {
  const parsed = OperatorFile.safeParse(parseJson(text, file), { reportInput: true });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => describeIssue(issue).text);
  throw invalid(file, lines.join("; "));
}

/** JSON has one place for each key: a second one would silently win. JSON is YAML, whose reader tells where it stands. */
function parseJson(text: string, file: string): unknown {
  if (parseStrictJson(text).kind === "value") return JSON.parse(text);
  const doubled = parseStrictYaml(text);
  try {
    const value: unknown = JSON.parse(text);
    if (doubled.kind === "parsed") return value;
  } catch (error) {
    throw invalid(file, `no JSON: ${(error as Error).message}`, error);
  }
  const { line, column, reason } = doubled.problem;
  throw invalid(file, `line ${line}, column ${column}: ${reason}`);
}

const invalid = (file: string, message: string, cause?: unknown): CountersignError =>
  new CountersignError("CONFIG_INVALID", `\`${file}\`: ${message}`, { cause, details: { file } });

/** Reads `operator.json` of a policy folder. Throws `CONFIG_INVALID`, also where there is none. */
export async function loadOperatorSettings(policyFolder: string): Promise<OperatorSettings> {
  const file = fileIn(policyFolder);
  return parseOperatorSettings(await readText(file), file);
}

/** SHA-256, lower-case hex, of `operator.json` as it is written: by it a change is seen (AUD-11). Throws as above. */
export async function digestOperatorSettings(policyFolder: string): Promise<string> {
  return createHash("sha256")
    .update(await readText(fileIn(policyFolder)))
    .digest("hex");
}

const fileIn = (policyFolder: string): string => path.join(policyFolder, "operator.json");

function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause) => {
    throw new CountersignError("CONFIG_INVALID", `\`${file}\` can't be read`, {
      cause,
      remedy: "point COUNTERSIGN_POLICIES to a folder with a readable `operator.json`; `{}` takes every default",
    });
  });
}
