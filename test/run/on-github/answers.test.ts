import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountersignError } from "../../../src/domain/index.ts";
import { type GatewayDeps, perform, takeUp } from "../../../src/gateway/index.ts";
import type { IntakeDeps } from "../../../src/intake/index.ts";
import { readActionEntries, readActionTexts, sealCommitted } from "../../../src/ledger/index.ts";
import { lookAtQuestions } from "../../../src/run/on-github/wait-for-answers.ts";
import type { RunDeps } from "../../../src/run/run-deps.ts";
import { settleCutOffActions, settleOpenActions } from "../../../src/run/settle-open-actions.ts";
import { createFakeWorkspace, type FakeWorkspace } from "../../support/fake-workspace.ts";
import { aCall, approvalMs, approvalOf, never, openTestGateway, type TestGateway } from "../../support/gateway.ts";
import { anEntry } from "../../support/test-ledger.ts";
import { commented, intakeDeps, startIntake, type TestIntake } from "../../support/webhooks.ts";

let gateway: TestGateway;
/** Two processes that hear comments, on one database. */
let intakes: readonly TestIntake[] = [];
/** What GitHub and the policy say while an answer is taken. */
let permission: IntakeDeps["github"]["permission"];
/** In place of what GitHub has of a comment. */
let readComment: IntakeDeps["github"]["comment"] | null = null;
let authorizeAnswer: IntakeDeps["policies"]["authorize"];
beforeAll(async () => {
  gateway = await openTestGateway();
  const deps = intakeDeps(gateway.store, gateway.log);
  authorizeAnswer = deps.policies.authorize;
  const shared: IntakeDeps = {
    ...deps,
    github: {
      ...deps.github,
      permission: (...asked) => permission(...asked),
      comment: (...asked) => (readComment ?? deps.github.comment)(...asked),
    },
    policies: { ...deps.policies, authorize: (...asked) => authorizeAnswer(...asked) },
  };
  const otherLedger = await gateway.log.open(gateway.store);
  intakes = [await startIntake(shared), await startIntake({ ...shared, ledger: otherLedger })];
});
afterAll(async () => {
  for (const intake of intakes) await intake[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

type Cut = "before_anything" | "after_the_effect";
type Step =
  | {
      readonly kind: "answer";
      readonly verb: "approve" | "deny";
      readonly who: "writer" | "reader" | "bot" | "unknown";
      readonly id: "own" | "of_nobody" | "below_another_issue";
    }
  /** A worker at the job of the run; `cut`: where its process ends. */
  | { readonly kind: "work"; readonly cut: Cut | null }
  | { readonly kind: "time_passes" | "clock_job" | "content_changes" | "policy_changes" | "stop" };

type State = "pending" | "granted" | "refused" | "expired" | "superseded" | "cancelled" | "cut_off" | "done";

/** What must come of a question, foretold without a line of the code that is tested. */
type Told = {
  readonly state: State;
  readonly effects: number;
  readonly isLate: boolean;
  readonly isContentChanged: boolean;
  readonly isPolicyChanged: boolean;
  readonly isStopped: boolean;
  readonly isOver: boolean;
};
const atFirst: Told = {
  state: "pending",
  effects: 0,
  isLate: false,
  isContentChanged: false,
  isPolicyChanged: false,
  isStopped: false,
  isOver: false,
};

function foretell(now: Told, one: Step): Told {
  switch (one.kind) {
    case "time_passes":
      return { ...now, isLate: true };
    case "content_changes":
      return { ...now, isContentChanged: true };
    case "policy_changes":
      return { ...now, isPolicyChanged: true };
    case "stop":
      return { ...now, isStopped: true };
    case "clock_job":
      return now.state === "pending" && now.isLate && !now.isStopped ? { ...now, state: "expired" } : now;
    case "answer": {
      const counts = one.who === "writer" && one.id === "own" && now.state === "pending";
      if (!counts || now.isLate || now.isStopped) return now;
      return { ...now, state: one.verb === "approve" ? "granted" : "refused" };
    }
    case "work":
      return now.isStopped ? foretellEnd(now) : foretellWork(now, one.cut);
  }
}

function foretellEnd(now: Told): Told {
  const isOpen = now.state === "pending" || now.state === "granted";
  return { ...now, isOver: true, state: isOpen && !now.isOver ? "cancelled" : now.state };
}

function foretellWork(now: Told, cut: Cut | null): Told {
  if (now.state !== "granted" && now.state !== "cut_off") return now;
  const isChanged = now.isContentChanged || now.isPolicyChanged;
  if (now.state === "cut_off" && isChanged) return now; // nothing is to be recorded
  const afresh = { ...now, isContentChanged: false }; // the checkout went with its worker
  if (cut === "before_anything") return afresh;
  if (now.state === "granted" && now.isLate) return { ...now, state: "expired" };
  if (isChanged) return { ...now, state: "superseded" };
  if (cut === "after_the_effect") return { ...afresh, state: "cut_off" };
  return { ...now, state: "done", effects: now.effects + 1 };
}

const states: Readonly<Record<string, State>> = {
  approval_pending: "pending",
  approval_granted: "granted",
  approval_refused: "refused",
  approval_expired: "expired",
  approval_superseded: "superseded",
  reconciled_not_applied: "cut_off",
  cancelled: "cancelled",
  succeeded: "done",
};

const manifest = { path: "package.json", content: "{}" };
const sequences = 40;
let nextRepository = 900_000;

/** One run with one question, and all that may happen to it: a real database, log, intake and policy; the checkout is in memory. */
async function openWorld() {
  nextRepository += 1;
  const repository = { id: nextRepository, name: "shop", owner: { login: "octo" } };
  const issue = { number: 7 };
  let workspace: FakeWorkspace = createFakeWorkspace({ "src/a.ts": "a" });
  const fixed = { repository: { id: String(repository.id), name: "octo/shop" }, approvalChannel: "github" } as const;
  const run = await gateway.newRun(workspace, fixed);
  const recovery = { ...gateway.deps, store: gateway.store, keys: gateway.log.keys };
  const runDeps = { ...recovery } as unknown as RunDeps;
  const question = await perform(gateway.deps, run, aCall(run, "create_file", manifest), never);
  const id = approvalOf(question);
  await insertRun(run.runId, run.traceId, fixed.repository);
  let authorize: GatewayDeps["authorize"] = gateway.deps.authorize;
  let isStopped = false;

  type Given = Extract<Step, { kind: "answer" }>;
  const answer = async (given: Given, reason = "because", process: 0 | 1 = 0) => {
    const named = given.id === "of_nobody" ? id.replace(/.$/, (last) => (last === "0" ? "1" : "0")) : id;
    const payload = commented(`/countersign ${given.verb} ${named} ${reason}`, {
      repository,
      issue: given.id === "below_another_issue" ? { number: 8 } : issue,
      sender: given.who === "bot" ? { type: "Bot" } : {},
    });
    permission =
      given.who === "unknown"
        ? () => Promise.reject(new CountersignError("GITHUB_UNAVAILABLE", "no answer"))
        : () =>
            Promise.resolve({
              permission: given.who === "reader" ? "read" : "write",
              userId: 501,
              requestId: "F00D:1",
            });
    return (await intakes[process]?.send("issue_comment", payload))?.body ?? {};
  };

  /** A worker that restores the checkout from what is on record, and asks for the same call again. */
  const work = async (cut: Cut | null): Promise<void> => {
    if (isStopped) return end();
    const appends = { left: cut === "before_anything" ? 0 : 1 };
    const append: GatewayDeps["ledger"]["append"] = (...batch) => {
      if (cut !== null && appends.left === 0) return Promise.reject(new Error("cut off"));
      appends.left -= 1;
      return gateway.deps.ledger.append(...batch);
    };
    const deps = { ...recovery, authorize, ledger: { ...gateway.deps.ledger, append } };
    try {
      await takeUp(deps, { ...run, workspace }, question.actionId, never);
    } catch (error) {
      if (!String(error).includes("cut off")) throw error;
      workspace = createFakeWorkspace({ "src/a.ts": "a" });
      await settleCutOffActions(runDeps, run, run.lease, "crash");
    }
  };

  const end = async (): Promise<void> => {
    await settleOpenActions(runDeps, run, run.lease, "stop");
    await gateway.store.sql("update runs set status = 'completed', conclusion = 'cancelled' where run_id = $1", [
      run.runId,
    ]);
  };

  return {
    run,
    question,
    id,
    answer,
    work,
    take: async (one: Step): Promise<void> => {
      switch (one.kind) {
        case "answer":
          await answer(one);
          return;
        case "work":
          return work(one.cut);
        case "time_passes":
          gateway.log.now.ms += approvalMs;
          return;
        case "clock_job":
          return isStopped ? undefined : lookAtQuestions(runDeps, run.runId);
        case "content_changes":
          workspace.files.set("package.json", Buffer.from(`${Math.random()}`));
          return;
        case "policy_changes":
          authorize = (...asked) => ({ ...gateway.deps.authorize(...asked), policySetDigest: "another" });
          return;
        case "stop":
          isStopped = true;
          await gateway.store.sql(
            "update runs set stop_requested_at = now(), stop_cause = 'command' where run_id = $1 and stop_requested_at is null",
            [run.runId],
          );
      }
    },
    seen: async (): Promise<{ readonly state: State | undefined; readonly effects: number }> => {
      const [row] = await gateway.store.sql<{ state: string }>("select state from actions where action_id = $1", [
        question.actionId,
      ]);
      return { state: states[row?.state ?? ""], effects: run.recorded.length };
    },
  };
}

const insertRun = (runId: string, traceId: string, { id, name }: { readonly id: string; readonly name: string }) =>
  gateway.store.sql(
    `insert into runs (run_id, trace_id, repository_id, repository_name, requester_id, requester_login,
       requester_permission, issue_number, base_sha, status, fencing_token, started_at, limits, installation_id)
     values ($1, $2, $3, $4, '1001', 'ada', 'write', 7, '', 'waiting', 1, now(), '{}', 31)`,
    [runId, traceId, id, name],
  );

const often = <Value>(value: Value, times: number): Value[] => Array.from({ length: times }, () => value);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("answer" as const),
      verb: fc.constantFrom("approve" as const, "approve" as const, "deny" as const),
      who: fc.constantFrom(...often("writer" as const, 4), "reader" as const, "bot" as const, "unknown" as const),
      id: fc.constantFrom(...often("own" as const, 4), "of_nobody" as const, "below_another_issue" as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("work" as const),
      cut: fc.constantFrom(null, null, "before_anything" as const, "after_the_effect" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        ...often("time_passes" as const, 2),
        ...often("clock_job" as const, 3),
        "content_changes" as const,
        "policy_changes" as const,
        "stop" as const,
      ),
    }),
  },
);

it("a question has one answer and at most one effect, whatever happens in whatever order (AUD-35 to AUD-39, AUD-66)", async () => {
  const reached = new Set<State>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const world = await openWorld();
      let told = atFirst;
      for (const one of steps) {
        await world.take(one);
        told = foretell(told, one);
        const { state, effects } = told;
        expect(await world.seen(), JSON.stringify(one)).toEqual({ state, effects });
        reached.add(state);
      }
    }),
    { numRuns: sequences, seed: 20_261_201 },
  );

  expect([...reached].sort()).toEqual([...new Set(Object.values(states))].sort());
}, 600_000);

const yes = { kind: "answer", verb: "approve", who: "writer", id: "own" } as const;
const no = { ...yes, verb: "deny" } as const;

describe("an answer by comment", () => {
  it("is taken once where two processes hear a yes and a no at once (AUD-36, AUD-39)", async () => {
    const world = await openWorld();

    const outcomes = await Promise.all([world.answer(yes), world.answer(no, "wait", 1)]);
    const rows = await gateway.store.sql("select answer from approval_answers where approval_id = $1", [world.id]);

    const codes = outcomes.map((outcome) => outcome["code"]);
    expect(codes.filter((code) => code === "approval_answered")).toHaveLength(1);
    expect(codes.filter((code) => code === "approval_granted" || code === "approval_refused")).toHaveLength(1);
    expect(rows).toHaveLength(1);
  });

  it.each([
    { name: "a second one", first: yes, second: yes, code: "approval_answered" },
    { name: "an id of nobody's", first: null, second: { ...yes, id: "of_nobody" } as const, code: "approval_unknown" },
    {
      name: "one below another issue",
      first: null,
      second: { ...yes, id: "below_another_issue" } as const,
      code: "approval_foreign",
    },
  ])(
    "$name gets one short reply and an entry, and changes nothing (AUD-39, GH-11)",
    async ({ first, second, code }) => {
      const world = await openWorld();
      if (first !== null) await world.answer(first);
      const before = await world.seen();

      const outcome = await world.answer(second);

      expect(outcome).toMatchObject({ result: "refused", code });
      expect(await world.seen()).toEqual(before);
      const [entry] = await gateway.store.sql<{ kind: string; code: string }>(
        `select e.body::text as kind, d.answer as code from deliveries d join ledger_entries e on e.delivery_id = d.delivery_id
        where d.code = $1 order by e.index desc limit 1`,
        [code],
      );
      expect(entry).toMatchObject({ code: "comment" });
    },
  );

  it("after its time gets the cause, also before the clock's job has run (AUD-38)", async () => {
    const world = await openWorld();
    gateway.log.now.ms += approvalMs;

    expect(await world.answer(yes)).toMatchObject({ code: "approval_expired" });
    expect(await world.seen()).toEqual({ state: "pending", effects: 0 });
  });

  it("by someone who may not write gets a reaction alone, and the question stays open (AUD-37, GH-12)", async () => {
    const world = await openWorld();

    const read = await world.answer({ ...yes, who: "reader" });
    const unknown = await world.answer({ ...yes, who: "unknown" });

    expect([read["code"], unknown["code"]]).toEqual(["permission_missing", "permission_unknown"]);
    expect(await world.answer(yes)).toMatchObject({ code: "approval_granted" });
  });

  it.each([
    ["deleted", () => Promise.resolve(null), "approval_withdrawn"],
    ["edited", () => Promise.resolve({ body: "rather not" }), "approval_withdrawn"],
    ["not told of", () => Promise.reject(new CountersignError("GITHUB_UNAVAILABLE", "no answer")), "approval_unread"],
  ] as const)(
    "is no yes where its comment is %s by the time that it arrives, and may be a no",
    async (_what, read, code) => {
      const world = await openWorld();
      readComment = read;
      try {
        expect(await world.answer(yes)).toMatchObject({ result: "refused", code });
        expect(await world.seen()).toEqual({ state: "pending", effects: 0 });
        expect(await world.answer(no)).toMatchObject({ code: "approval_refused" });
      } finally {
        readComment = null;
      }
    },
  );

  it("is itself put to the policy, and one that it denies changes nothing (AUD-37)", async () => {
    const world = await openWorld();
    const asked: unknown[] = [];
    const before = authorizeAnswer;
    authorizeAnswer = (requests, repository) => {
      asked.push(...requests);
      return { ...before(requests, repository), effect: "deny", policyIds: ["not-the-requester"] };
    };

    const outcome = await world.answer(yes).finally(() => {
      authorizeAnswer = before;
    });

    expect(outcome).toMatchObject({ result: "refused", code: "approval_forbidden" });
    expect(asked).toMatchObject([
      {
        tool: "approve",
        principal: { kind: "person", person: { id: "501", permission: "write" } },
        requestedBy: { id: "1001" },
        runId: world.run.runId,
        input: { approval_id: world.id, tool: "create_file", risk: "DANGEROUS" },
      },
    ]);
    expect(await world.seen()).toEqual({ state: "pending", effects: 0 });
  });

  it("is held against what the repository of the run forbids (AUD-24, AUD-37)", async () => {
    const world = await openWorld();
    const forbid = [{ text: '@id("nobody") forbid (principal, action == Action::"approve", resource);', line: 3 }];
    const texts = { repository_policies: Buffer.from(JSON.stringify(forbid)) };
    const { sealed, commitments } = sealCommitted(null, { bytes: randomBytes(32), isNew: true }, texts);
    const { runId, lease } = world.run;
    await gateway.log.ledger.append(lease, { entries: [anEntry(runId, { evidence: { commitments } })], sealed });

    expect(await world.answer(yes)).toMatchObject({ result: "refused", code: "approval_forbidden" });
    expect(await world.seen()).toEqual({ state: "pending", effects: 0 });
  });

  it("is on record with the permission seen, the request that told it, delivery, channel and the reason's commitment (AUD-5)", async () => {
    const world = await openWorld();
    await world.answer(yes);

    const entries = await readActionEntries(gateway.store, world.question.actionId);
    const granted = entries.find(({ state }) => state === "approval_granted");

    expect(granted).toMatchObject({
      deliveryId: expect.any(String),
      evidence: {
        channel: "github",
        permission: "write",
        requestId: "F00D:1",
        commitments: { reason: expect.any(String) },
      },
    });
  });

  it("has its reason and its person sealed, and cut at 500 characters (AUD-79, GH-3)", async () => {
    const world = await openWorld();
    await world.answer(no, `planted-reason ${"z".repeat(600)}`);
    await world.work(null);

    const texts = await readActionTexts({ store: gateway.store, keys: gateway.log.keys }, world.question.actionId);
    const textOf = (name: string) => Buffer.from(texts.find(({ field }) => field === name)?.bytes ?? []).toString();
    const [clear] = await gateway.store.sql<{ text: string }>(
      `select coalesce(string_agg(convert_from(body, 'UTF8'), ''), '') || (select string_agg(d::text, '') from deliveries d)
        || (select coalesce(string_agg(data::text, ''), '') from pgboss.job) as text from ledger_entries`,
    );

    expect(textOf("reason")).toMatch(/^planted-reason z+$/);
    expect(Array.from(textOf("reason"))).toHaveLength(500);
    expect(JSON.parse(textOf("approver"))).toMatchObject({ id: "501", login: "ada", permission: "write" });
    expect(clear?.text).not.toContain("planted-reason");
    expect(clear?.text).not.toContain('"ada"');
  });
});
