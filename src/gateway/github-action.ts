import { z } from "zod";
import type { Effect, JsonObject, PathFact } from "../domain/index.ts";
import { type GithubTool, type GithubWrite, githubWrites, type WriteOf } from "../github/index.ts";
import type { CapabilityWay } from "../policy/index.ts";
import type {
  ActionDescription,
  Executed,
  GithubContext,
  Looked,
  Prepared,
  Presented,
  Unfinished,
} from "./action-description.ts";
import { recordSchema, wholeBody } from "./result-record.ts";
import { resultText } from "./result-text.ts";

/** What stands on GitHub: ids, SHAs, addresses. */
export type GithubFacts = { readonly result: JsonObject };

type WrittenArguments = Readonly<Record<string, unknown>>;

/** What is an action's own; all else the writes to GitHub share. */
export type GithubActionParts<Tool extends GithubTool, Shape extends z.ZodRawShape> = {
  readonly name: Tool;
  readonly reason: string;
  readonly capabilities: readonly CapabilityWay[];
  readonly Arguments: z.ZodObject<Shape>;
  /** From the arguments alone but for bytes and ids, so that it can be made again to look for its effect. */
  readonly toWrite: (context: GithubContext, args: z.infer<z.ZodObject<Shape>>) => WriteOf<Tool>;
  /** Checked before the write is made; absent: nothing is to check. */
  readonly prepare?: (context: GithubContext, args: z.infer<z.ZodObject<Shape>>) => Prepared<null>;
  readonly pathEffects?: (args: z.infer<z.ZodObject<Shape>>) => readonly Effect[];
  readonly policyInput?: (args: z.infer<z.ZodObject<Shape>>, path: PathFact | null) => JsonObject;
};

/** The longest that a write may take to be answered (AUD-63). */
const writeDeadlineMs = 30_000;

/**
 * A write to GitHub as an action like any other: arguments to write, write to outcome. The host's own, so no model is
 * offered it; its row in the table of natural keys says how it is found again.
 */
export function githubAction<Tool extends GithubTool, Shape extends z.ZodRawShape>(
  parts: GithubActionParts<Tool, Shape>,
): ActionDescription<z.infer<z.ZodObject<Shape>>, GithubWrite, GithubFacts, GithubContext> {
  type Arguments = z.infer<z.ZodObject<Shape>>;
  const { name, reason, Arguments, toWrite } = parts;
  const row = githubWrites[name];
  return {
    name,
    description: null,
    reason,
    group: "publish",
    risk: "RESTRICTED",
    capabilities: parts.capabilities,
    place: "github",
    semanticFields: Object.keys(Arguments.shape),
    Arguments: Arguments as unknown as z.ZodType<Arguments>,
    Record: recordSchema({ result: z.record(z.string(), z.json()), error_code: z.string().nullable() }),
    effects: (args) => [{ kind: "publish" }, ...(parts.pathEffects?.(args) ?? [])],
    ...(parts.policyInput === undefined ? {} : { policyInput: parts.policyInput }),
    prepare: (context, args): Promise<Prepared<GithubWrite>> => {
      const checked = parts.prepare?.(context, args) ?? { kind: "ready", plan: null, preconditions: [], intent: {} };
      return Promise.resolve(checked.kind === "ready" ? { ...checked, plan: toWrite(context, args) } : checked);
    },
    execute: send,
    present: (_context, _args, { facts }) => presentApplied(name, facts),
    reconciliation: {
      recipe: row.recipe,
      precondition: row.precondition,
      naturalKey: (context, args) => row.naturalKey(toWrite(context, args)),
      expectedSha: (args) => shaOf((args as WrittenArguments)["expected_sha"]),
      deadlineMs: writeDeadlineMs,
      look: (context, args, sinceIso, signal) => look(context, toWrite(context, args), sinceIso, signal),
    },
  };
}
const shaOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

async function send(
  { writer }: GithubContext,
  write: GithubWrite,
  signal: AbortSignal,
): Promise<Executed<GithubFacts> | Unfinished> {
  const outcome = await writer.write(write, signal);
  return outcome.kind === "applied" ? executedOf(outcome) : outcome;
}

async function look(
  { writer }: GithubContext,
  write: GithubWrite,
  sinceIso: string,
  signal: AbortSignal,
): Promise<Looked<GithubFacts>> {
  const found = await writer.look(write, sinceIso, signal);
  return found.kind === "applied" ? { kind: "applied", executed: executedOf(found) } : found;
}

type Applied = { readonly result: JsonObject; readonly evidence: JsonObject };

function executedOf({ result, evidence }: Applied): Executed<GithubFacts> {
  return { facts: { result }, changeSet: null, evidence: { github: evidence, result: plainFacts(result) } };
}

/** Ids, counts and SHAs of a result. Other texts, addresses among them, are sealed with the result alone (AUD-79). */
function plainFacts(result: JsonObject): JsonObject {
  const isPlain = (value: unknown): boolean =>
    value === null || typeof value === "number" || typeof value === "boolean" || isSha(value);
  return Object.fromEntries(Object.entries(result).filter(([, value]) => isPlain(value)));
}

const isSha = (value: unknown): boolean => typeof value === "string" && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(value);

function presentApplied(name: string, { result }: GithubFacts): Presented {
  const record = { ...wholeBody(0, 0), result, error_code: null };
  return { status: "ok", text: resultText("ok", `${name} stands on GitHub`, []), record, refusal: null };
}
