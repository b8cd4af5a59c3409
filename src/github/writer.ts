import { CountersignError, isCountersignError, type JsonObject, mapTexts } from "../domain/index.ts";
import type { RepositoryPlace } from "./facts.ts";
import { lostOf } from "./failure.ts";
import type { GithubDeps, GithubWriter } from "./github.ts";
import { inRepository } from "./reader.ts";
import { createSend, type SendDeps, type Step } from "./send.ts";
import type { Tokens } from "./tokens.ts";
import type { Seen, WriteContext } from "./write-row.ts";
import { rowOf } from "./write-table.ts";
import type { Found, GithubWrite, WriteOutcome } from "./writes.ts";

export type WriterDeps = SendDeps &
  Pick<GithubDeps, "delay"> & {
    readonly tokens: Tokens;
    readonly lookIntervalMs: number;
    /** All of a row's context but its sending. `steps` takes a line for each answered read. */
    readonly contextOf: (place: RepositoryPlace, steps: Step[]) => Omit<WriteContext, "send">;
  };

/** A list can have thirty pages, a tree many folders: the first reads stand for all. */
const stepsRecordedMost = 8;

/** What was read, when, and by which requests (AUD-10). */
const lookEvidence = (saw: Seen["saw"], atMs: number, steps: readonly Step[]): JsonObject => ({
  ...saw,
  at: new Date(atMs).toISOString(),
  reads: steps.slice(0, stepsRecordedMost),
  readCount: steps.length,
});

const toFound = (seen: Seen, evidence: Found["evidence"]): Found =>
  seen.kind === "applied" ? { kind: "applied", result: seen.result, evidence } : { kind: seen.kind, evidence };

/** The failure of a sending as an outcome (AUD-63); a bug is thrown on. */
function outcomeOf(error: unknown, signal: AbortSignal): WriteOutcome {
  if (isCountersignError(error)) {
    const cause = lostOf(error);
    return cause === null ? { kind: "not_applied", error } : { kind: "unknown", cause, error };
  }
  if (!signal.aborted || error !== signal.reason) throw error;
  return {
    kind: "not_applied",
    error: new CountersignError("ABORTED", "stopped before it was sent to GitHub", { cause: error }),
  };
}

/** No secret in any text of it. Files stay as they are: one with a secret was stopped by the commit gate. */
const redacted = ({ redactor }: WriterDeps, write: GithubWrite): GithubWrite =>
  write.tool === "push_commit"
    ? { ...write, message: redactor.redact(write.message) }
    : mapTexts(write, redactor.redact);

export function createWriter(deps: WriterDeps, place: RepositoryPlace): GithubWriter {
  function contextFor(write: GithubWrite, steps: Step[]): WriteContext {
    const credential = deps.tokens.credential(place, rowOf(write).permissions);
    const send = createSend(deps, { installationId: place.installationId, credential }, steps);
    const context = deps.contextOf(place, steps);
    return {
      ...context,
      send: (request, shape, signal) =>
        send(request.route === context.graphqlUrl ? request : inRepository(place, request), shape, signal),
    };
  }

  return {
    write: async (given, signal) => {
      const write = redacted(deps, given);
      const steps: Step[] = [];
      try {
        const result = await rowOf(write).send(contextFor(write, steps), write, signal);
        return { kind: "applied", result, evidence: { steps } };
      } catch (error) {
        return outcomeOf(error, signal);
      }
    },
    look: async (given, sinceIso, signal) => {
      const write = redacted(deps, given); // as it was sent
      const lookOnce = async (): Promise<Seen> => {
        const atMs = deps.clock();
        const steps: Step[] = [];
        const seen = await seeOnce(contextFor(write, steps));
        return { ...seen, saw: lookEvidence(seen.saw, atMs, steps) };
      };
      const seeOnce = async (context: WriteContext): Promise<Seen> => {
        try {
          return await rowOf(write).look(context, write, sinceIso, signal);
        } catch (error) {
          signal.throwIfAborted();
          if (!isCountersignError(error)) throw error;
          return { kind: "inconclusive", saw: { code: error.code, ...error.details } };
        }
      };
      const first = await lookOnce();
      if (first.kind !== "not_applied") return toFound(first, { looks: [first.saw] });
      await deps.delay(deps.lookIntervalMs, signal); // lists may lag (AUD-65)
      const second = await lookOnce();
      return toFound(second, { looks: [first.saw, second.saw] });
    },
  };
}
