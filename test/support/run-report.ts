import { z } from "zod";

const TestRun = z.object({ exit_code: z.int().nullable(), duration_ms: z.number() });
const digest = z.string().regex(/^(raw:)?hmac-sha256:[0-9a-f]{64}$/);

/** The object that `run --json` prints (architecture, section 1.7). */
export const RunReport = z.object({
  run_id: z.uuid(),
  conclusion: z.enum(["success", "failure", "cancelled", "timed_out", "action_required", "neutral"]),
  cause: z.string(),
  stop_reason: z.string(),
  pull_request: z
    .object({
      number: z.int().positive(),
      url: z.url(),
      head_sha: z.string().regex(/^[0-9a-f]{40}$/),
      draft: z.boolean(),
      confirmed: z.boolean(),
      diff_stat: z.object({ files: z.number(), added: z.number(), removed: z.number() }),
    })
    .nullable(),
  patch: z.string(),
  patch_kept: z.string().nullable(),
  left_out: z.array(z.string()),
  withheld: z.array(z.object({ path: z.string(), policy_ids: z.array(z.string()) })),
  diff_stat: z.object({ files: z.number(), added: z.number(), removed: z.number() }),
  tests: z.object({
    command: z.string().nullable(),
    derived: z.boolean(),
    before: TestRun.nullable(),
    after: TestRun.nullable(),
  }),
  actions: z.array(
    z.object({
      action_id: z.uuid(),
      tool: z.string(),
      state: z.string(),
      decision: z.enum(["allow", "deny", "require_approval"]).nullable(),
      policy_ids: z.array(z.string()),
      reason: z.object({ code: z.string(), message: z.string() }).nullable(),
      arguments_digest: digest.nullable(),
      duration_ms: z.number().nonnegative(),
    }),
  ),
  trace_id: z.string().regex(/^[0-9a-f]{32}$/),
  ledger: z.object({ size: z.int().positive(), root_hash: z.base64(), verified: z.boolean() }),
  tokens: z.object({ input: z.int().nonnegative(), output: z.int().nonnegative() }),
  duration_ms: z.number().nonnegative(),
});
export type RunReport = z.infer<typeof RunReport>;

/** The object that `audit show --json` prints (architecture, section 1.7; AUD-9). */
export const AuditedRun = z.object({
  run_id: z.uuid(),
  actions: z.array(
    z.object({
      action_id: z.uuid(),
      tool: z.string(),
      state: z.string(),
      event: z.strictObject({
        actor: z.string(),
        action: z.string(),
        allowed: z.boolean().nullable(),
        arguments_digest: digest.nullable(),
        outcome: z.string().regex(/^(ok|denied|unknown|(approval|parse|validation|error|cancelled):\w+)$/),
      }),
      states: z.array(z.object({ state: z.string(), time: z.iso.datetime(), index: z.int().nonnegative() })),
    }),
  ),
});

/** The object that `audit verify --json` prints. */
export const Verified = z.object({
  ok: z.boolean(),
  size: z.int(),
  root_hash: z.base64(),
  findings: z.array(z.object({ code: z.string(), index: z.int().nullable(), message: z.string() })),
});

/** The array that `runs list --json` prints. */
export const ListedRuns = z.array(
  z.object({
    run_id: z.uuid(),
    repository: z.string(),
    issue: z.null(),
    status: z.string(),
    conclusion: z.string().nullable(),
    attempt: z.int(),
    started_at: z.iso.datetime(),
  }),
);

/** Standard output of a `--json` command as what it promises. */
export function readJson<T>(schema: z.ZodType<T>, { stdout, stderr }: { stdout: string; stderr: string }): T {
  if (stdout === "") throw new Error(`nothing was printed:\n${stderr}`);
  return schema.parse(JSON.parse(stdout));
}
