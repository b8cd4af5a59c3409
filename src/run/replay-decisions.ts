import {
  CountersignError,
  canonicalBytes,
  type Decision,
  isCountersignError,
  type JsonObject,
  type RunId,
} from "../domain/index.ts";
import type { Catalogue } from "../gateway/index.ts";
import { type Keys, type RecordedDecision, readPolicySet, readRunTexts } from "../ledger/index.ts";
import {
  type AuthorizationRequest,
  compileRecordedPolicies,
  compileRepositoryPolicies,
  type ForbidText,
  noRepositoryPolicies,
  type PolicyDeps,
  type PolicyEngine,
  type RepositoryPolicies,
} from "../policy/index.ts";
import type { Store } from "../store/index.ts";

/** An answer of the policies, as far as it says what may be done and why. */
export type Answer = Pick<Decision, "effect" | "policyIds">;

/** What became of one recorded decision when it was made again (AUD-31). */
export type Replayed =
  | { readonly kind: "reproduced"; readonly now: Decision; readonly engine: PolicyEngine }
  | {
      readonly kind: "different";
      readonly now: Decision;
      readonly engine: PolicyEngine;
      readonly differs: readonly string[];
    }
  /** The request can be read by nobody any more: never a pass. */
  | { readonly kind: "erased" }
  /** What it was decided by is not on record, or no longer loads. */
  | { readonly kind: "unreadable"; readonly reason: string };

export type ReplayDeps = {
  readonly store: Store;
  readonly keys: Keys;
  readonly catalogue: Catalogue;
  readonly policies: PolicyDeps;
};

type ForbidDeps = { readonly store: Pick<Store, "db">; readonly keys: Keys };

/** Decides again what was decided, by the recorded set or by another one. Sets are compiled once. */
export type Replay = {
  /** By the set, the repository's policies and the request on record: must give the recorded answer. */
  readonly again: (recorded: RecordedDecision) => Promise<Replayed>;
  /** The same request and repository's policies under another set; null where the request was erased. */
  readonly under: (engine: PolicyEngine, recorded: RecordedDecision) => Promise<Answer | null>;
};

/** What a decision's entry says of it. */
export function recordedAnswer({ evidence }: RecordedDecision): Answer {
  const { effect, policyIds } = evidence;
  return { effect: effect as Answer["effect"], policyIds: policyIds as readonly string[] };
}

const textOf = (evidence: JsonObject, name: string): string => String(evidence[name]);

export function createReplay(deps: ReplayDeps): Replay {
  const records = createRecords(deps);
  return {
    again: (recorded) => decideAgain(records, recorded),
    under: (engine, recorded) => decideUnder(records, engine, recorded),
  };
}

/** What decisions were made by, read once each. */
type DecidedBy = {
  readonly engine: (digest: string) => Promise<PolicyEngine | null>;
  /** The repository's policies of that decision, for this engine; null where they are erased or not kept. */
  readonly repository: (engine: PolicyEngine, recorded: RecordedDecision) => Promise<RepositoryPolicies | null>;
};

function createRecords(deps: ReplayDeps): DecidedBy {
  const engines = new Map<string, Promise<PolicyEngine | null>>();
  const forbids = new Map<RunId, Promise<readonly (readonly ForbidText[])[]>>();
  return {
    engine: (digest) => remembered(engines, digest, () => compile(deps, digest)),
    repository: async (engine, { evidence, entry: { runId } }) => {
      const digest = textOf(evidence, "repositoryPolicyDigest");
      if (digest === noRepositoryPolicies.digest) return noRepositoryPolicies;
      const texts = runId === null ? [] : await remembered(forbids, runId, () => readForbids(deps, runId));
      return texts.map((each) => compileRepositoryPolicies(engine, each)).find((one) => one.digest === digest) ?? null;
    },
  };
}

async function decideAgain(records: DecidedBy, recorded: RecordedDecision): Promise<Replayed> {
  const { requests, evidence } = recorded;
  if (requests === null) return { kind: "erased" };
  const digest = textOf(evidence, "policySetDigest");
  try {
    const engine = await records.engine(digest);
    if (engine === null) return { kind: "unreadable", reason: `no policy set \`${digest}\` is kept` };
    const repository = await records.repository(engine, recorded);
    if (repository === null) return { kind: "unreadable", reason: "the repository's policies are erased or not kept" };
    const now = engine.authorize(requestsOf(requests), repository);
    const differs = differencesOf(recorded, requests, now);
    return differs.length === 0 ? { kind: "reproduced", now, engine } : { kind: "different", now, engine, differs };
  } catch (error) {
    if (isCountersignError(error)) return { kind: "unreadable", reason: error.message };
    throw error;
  }
}

async function decideUnder(
  records: DecidedBy,
  engine: PolicyEngine,
  recorded: RecordedDecision,
): Promise<Answer | null> {
  if (recorded.requests === null) return null;
  try {
    const repository = await records.repository(engine, recorded);
    return repository === null ? null : engine.authorize(requestsOf(recorded.requests), repository);
  } catch (error) {
    // What the repository forbids does not fit that set's schema: under it, the run would not have begun.
    if (isCountersignError(error, "SETTINGS_INVALID")) return { effect: "deny", policyIds: ["policy_error"] };
    throw error;
  }
}

function remembered<Key, Value>(known: Map<Key, Promise<Value>>, key: Key, make: () => Promise<Value>): Promise<Value> {
  const made = known.get(key) ?? make();
  known.set(key, made);
  return made;
}

async function compile({ store, catalogue, policies }: ReplayDeps, digest: string): Promise<PolicyEngine | null> {
  const texts = await readPolicySet({ store }, digest);
  return texts === null ? null : compileRecordedPolicies(policies, texts, [...catalogue.values()]);
}

/** The `forbid` texts of a run, each time that its settings were read; without those erased. */
async function readForbids(deps: ForbidDeps, runId: RunId): Promise<readonly (readonly ForbidText[])[]> {
  const texts = await readRunTexts(deps, runId, repositoryPoliciesField);
  return texts.flatMap(({ bytes }) =>
    bytes === null ? [] : [JSON.parse(new TextDecoder().decode(bytes)) as ForbidText[]],
  );
}

/**
 * What the repository of a run forbids, as the run itself is held to it. Throws `KEYS_UNUSABLE` where that was erased, and
 * `SETTINGS_INVALID` where it no longer fits the policies: nothing can be decided then.
 */
export async function repositoryPoliciesOf(
  deps: ForbidDeps & { readonly policies: Pick<PolicyEngine, "schema"> },
  runId: RunId,
): Promise<RepositoryPolicies> {
  const texts = await readRunTexts(deps, runId, repositoryPoliciesField);
  const newest = texts.at(-1);
  if (newest === undefined) return noRepositoryPolicies;
  if (newest.bytes === null)
    throw new CountersignError("KEYS_UNUSABLE", `what the repository of run \`${runId}\` forbids can't be opened`);
  return compileRepositoryPolicies(deps.policies, JSON.parse(new TextDecoder().decode(newest.bytes)) as ForbidText[]);
}

/** The sealed text of a run that holds what its repository forbids. */
export const repositoryPoliciesField = "repository_policies";

const requestsOf = (bytes: Uint8Array): readonly AuthorizationRequest[] =>
  JSON.parse(new TextDecoder().decode(bytes)) as readonly AuthorizationRequest[];

/** All that a decision says and that no clock decides. */
function differencesOf({ evidence }: RecordedDecision, requests: Uint8Array, now: Decision): readonly string[] {
  const facts: Readonly<Record<string, readonly [unknown, unknown]>> = {
    effect: [evidence["effect"], now.effect],
    policyIds: [evidence["policyIds"], now.policyIds],
    adviceIds: [evidence["adviceIds"], Object.keys(now.advice)],
    errorCount: [evidence["errorCount"], now.errors.length],
    policySetDigest: [evidence["policySetDigest"], now.policySetDigest],
    schemaDigest: [evidence["schemaDigest"], now.schemaDigest],
    entitiesDigest: [evidence["entitiesDigest"], now.entitiesDigest],
    requests: [Buffer.from(requests).toString("hex"), Buffer.from(canonicalBytes(now.requests)).toString("hex")],
  };
  return Object.keys(facts).filter((name) => JSON.stringify(facts[name]?.[0]) !== JSON.stringify(facts[name]?.[1]));
}
