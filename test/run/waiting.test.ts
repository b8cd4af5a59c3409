import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ActionId, type ActionState, createRedactor, type Run, statesAtRest } from "../../src/domain/index.ts";
import { recordPersonsAnswer } from "../../src/gateway/index.ts";
import { loadRepositorySettings, noRepositoryPolicies, parseOperatorSettings } from "../../src/policy/index.ts";
import { carry } from "../../src/run/carry.ts";
import { runJob } from "../../src/run/on-github/hand-over.ts";
import { waitingQuestions } from "../../src/run/on-github/put-questions.ts";
import { lookAtQuestions } from "../../src/run/on-github/wait-for-answers.ts";
import { openSession } from "../../src/run/open-session.ts";
import { askedAbout, readResumed } from "../../src/run/resume.ts";
import type { RunDeps } from "../../src/run/run-deps.ts";
import { recordWaiting } from "../../src/run/run-record.ts";
import type { Session } from "../../src/run/session.ts";
import { settleCutOffActions } from "../../src/run/settle-open-actions.ts";
import { createFakeWorkspace, type FakeWorkspace } from "../support/fake-workspace.ts";
import { approvalMs, never, openTestGateway, type TestGateway } from "../support/gateway.ts";
import { anAnswer, type WrittenCall } from "../support/loop.ts";
import { visibleText } from "../support/texts.ts";

const finished: readonly WrittenCall[] = [["finish", { summary: "what was wrong", title: "Mend it" }]];
/** Two questions in one turn, and an edit between them that needs what was read before. */
const inOrder: readonly (readonly WrittenCall[])[] = [
  [["read_file", { path: "value.txt" }]],
  [
    ["create_file", { path: "package.json", content: "{}" }],
    ["edit_file", { path: "value.txt", edits: [{ anchor: "one", replacement: "two" }] }],
    ["create_file", { path: "package-lock.json", content: "{}" }],
  ],
  finished,
];
/** The same with one question. */
const oneQuestion = [inOrder[0] ?? [], (inOrder[1] ?? []).slice(0, 2), finished];
/** Two questions among reads that are made side by side. */
const sideBySide: readonly (readonly WrittenCall[])[] = [
  [
    ["read_file", { path: "value.txt" }],
    ["read_file", { path: "asked-1.txt" }],
    ["read_file", { path: "asked-2.txt" }],
  ],
  [["edit_file", { path: "asked-2.txt", edits: [{ anchor: "b", replacement: "c" }] }]],
  finished,
];
const base = { "value.txt": "one\n", "asked-1.txt": "a\n", "asked-2.txt": "b\n" };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

type Wish = {
  /** The repository's own settings. */
  readonly settings?: string;
  /** As where a policy lets the model write a manifest without a person. */
  readonly isManifestFree?: boolean;
  /** Tools that a policy asks a person about. */
  readonly asked?: readonly string[];
  /** As in a run at a terminal: who sits there says yes. */
  readonly isAtTerminal?: boolean;
};

/** `cutAt`: the append at which the process of the worker ends, once. */
async function openWorld(moves: readonly (readonly WrittenCall[])[], cutAt: number | null, wish: Wish = {}) {
  const context = await gateway.newRun(null);
  const { runId, traceId, lease } = context;
  const operator = parseOperatorSettings("{}", "operator.json");
  const file = wish.settings === undefined ? null : Buffer.from(wish.settings);
  const settings = await loadRepositorySettings({ paths: [], read: () => Promise.resolve(file) }, operator);
  const workspaces: FakeWorkspace[] = [];
  const world = {
    appends: 0,
    asked: 0,
    told: "",
    answer: "granted" as "granted" | "refused",
    policySet: "",
    yesCount: 0,
  };
  const append: RunDeps["ledger"]["append"] = (...batch) => {
    world.appends += 1;
    if (world.appends === cutAt) return Promise.reject(new Error("cut off"));
    return gateway.deps.ledger.append(...batch);
  };
  const authorize: RunDeps["policies"]["authorize"] = (requests, policies) => {
    const decided = gateway.policies.authorize(requests, policies);
    const decision = world.policySet === "" ? decided : { ...decided, policySetDigest: world.policySet };
    const isAsked = requests.some(
      ({ tool, path, approved }) =>
        ((tool === "read_file" && path?.resolved.startsWith("asked")) || wish.asked?.includes(tool)) && !approved,
    );
    const isFree = wish.isManifestFree === true && requests.some(({ path }) => path?.resolved === "package.json");
    if (isFree) return { ...decision, effect: "allow" };
    return isAsked ? { ...decision, effect: "require_approval", policyIds: ["by-approval"] } : decision;
  };
  const sayYes = () => {
    world.yesCount += 1;
    return Promise.resolve({ isGranted: true, reason: "" });
  };
  const approvalChannel = wish.isAtTerminal === true ? ("terminal" as const) : ("github" as const);
  const deps = {
    ...gateway.deps,
    store: gateway.store,
    keys: gateway.log.keys,
    ledger: { ...gateway.deps.ledger, append },
    policies: { ...gateway.policies, authorize },
    operator,
    model: (request: { readonly messages: readonly { readonly kind: string }[] }) => {
      world.asked += 1;
      world.told = JSON.stringify(request.messages);
      const turn = request.messages.filter(({ kind }) => kind === "assistant").length;
      return Promise.resolve(anAnswer(moves[Math.min(turn, moves.length - 1)] ?? finished));
    },
    modelName: "scripted",
    redactor: createRedactor([]),
    askApproval: wish.isAtTerminal === true ? sayYes : null,
    onEvent: () => undefined,
    openPages: () => Promise.resolve({ ...context.pages, [Symbol.asyncDispose]: () => Promise.resolve() }),
    workspace: {
      createWorkspace: () => {
        const workspace = restorable(createFakeWorkspace(base));
        workspaces.push(workspace);
        return Promise.resolve(workspace);
      },
      readBaseFile: () => Promise.resolve(null),
      renderPatch: () => Promise.resolve(""),
    },
  } as unknown as RunDeps;
  const run: Run = {
    ...{ runId, traceId, repository: context.repository, requester: context.requester, issueTitle: "t", baseSha: "0" },
    ...{
      status: "in_progress",
      conclusion: null,
      stopReason: null,
      attempt: 0,
      startedAt: "",
      limits: settings.limits,
    },
  };
  const issue = { title: visibleText("t", "issue_title"), body: visibleText("b"), request: null };
  let lastSession: Session | null = null;
  /** As a worker of the run does it, whichever it is. */
  const work = async (): Promise<string> => {
    const wasAsked = (await askedAbout(deps, runId)).length > 0;
    if (wasAsked) await settleCutOffActions(deps, run, lease, "crash");
    const resumed = wasAsked ? await readResumed(deps, runId) : null;
    const session = await openSession(deps, {
      ...{ run, lease, issue, settings, repositoryPolicies: noRepositoryPolicies, startedAtMs: deps.clock() },
      ...{ requesterReference: context.requesterReference, approvalChannel, onPhase: () => undefined },
      base: createFakeWorkspace(base).base,
    });
    session.recorded.push(...(resumed?.recorded ?? []));
    for (const actionId of resumed?.approved ?? []) session.approvedEarlier.add(actionId);
    lastSession = session;
    const carried = await carry(deps, session, resumed, never);
    if (carried.kind === "result") return carried.result.end.stopReason;
    const { phase, before } = carried;
    const texts = { while_waiting: JSON.stringify({ phase, before, elapsedMs: 0, outputBytes: 0 }) };
    await recordWaiting(deps, session, { evidence: {}, texts }, () => Promise.resolve());
    return "waiting";
  };
  const answerAll = async (): Promise<void> => {
    for (const question of await waitingQuestions(deps, runId)) {
      const approver = { id: "501", login: "ada", permission: "write" } as const;
      const decision = gateway.policies.authorize([], noRepositoryPolicies);
      const answer = { kind: world.answer, approver, requestId: null, reason: "", deliveryId: "d", decision } as const;
      await recordPersonsAnswer(deps, { ...question, run }, answer, () => Promise.resolve());
    }
  };
  return { world, workspaces, work, answerAll, runId, deps, session: () => lastSession };
}

/** Takes a change set, as a real checkout does. */
const restorable = (workspace: FakeWorkspace): FakeWorkspace => ({
  ...workspace,
  apply: ({ changes }) => {
    for (const { path, after } of changes) {
      if (after === null) workspace.files.delete(path);
      else workspace.files.set(path, after.content);
    }
    return Promise.resolve();
  },
});

const contentOf = (workspace: FakeWorkspace | undefined, path: string): string =>
  Buffer.from(workspace?.files.get(path) ?? []).toString();

const actionsOf = (runId: string) =>
  gateway.store.sql<{ tool: string; state: ActionState; count: number }>(
    "select tool, state, count(*) from actions where run_id = $1 group by tool, state order by tool, state",
    [runId],
  );

function cutOff(error: unknown): string {
  if (String(error).includes("cut off")) return "cut off";
  throw error;
}

/** Works, answers and works again until an end. A process that was cut off is followed by another. */
async function toTheEnd(moves: readonly (readonly WrittenCall[])[], cutAt: number | null, wish: Wish = {}) {
  const opened = await openWorld(moves, cutAt, wish);
  const ends: string[] = [];
  for (let worker = 0; worker < 8 && !ends.includes("finished"); worker += 1) {
    ends.push(await opened.work().catch(cutOff));
    await opened.answerAll().catch(cutOff);
  }
  return { ...opened, ends, actions: await actionsOf(opened.runId) };
}

describe("a run that waits for a person is gone on with from its record (AUD-66, GH-54)", () => {
  it("two questions of one turn: each is asked once, what comes after waits, nothing is done twice", async () => {
    const { ends, actions, workspaces, world } = await toTheEnd(inOrder, null);

    expect(ends).toEqual(["waiting", "waiting", "finished"]);
    expect(actions).toEqual([
      { tool: "create_file", state: "succeeded", count: 2 },
      { tool: "edit_file", state: "succeeded", count: 1 },
      { tool: "finish", state: "succeeded", count: 1 },
      { tool: "read_file", state: "succeeded", count: 1 },
    ]);
    expect(contentOf(workspaces.at(-1), "value.txt")).toBe("two\n");
    expect(contentOf(workspaces.at(-1), "package-lock.json")).toBe("{}");
    expect(world.asked).toBe(3); // no answer of the model is asked for again
  });

  it("questions among reads side by side are both asked before the run waits", async () => {
    const { ends, actions, workspaces } = await toTheEnd(sideBySide, null);

    expect(ends).toEqual(["waiting", "finished"]);
    expect(actions).toContainEqual({ tool: "read_file", state: "succeeded", count: 3 });
    expect(contentOf(workspaces.at(-1), "asked-2.txt")).toBe("c\n");
  });

  it("whose process ends at any entry: one question for each action, one effect, and all at rest at the end (AUD-6)", async () => {
    const { world } = await toTheEnd(oneQuestion, null);
    for (let cutAt = 1; cutAt <= world.appends; cutAt += 1) {
      const { actions, workspaces, runId } = await toTheEnd(oneQuestion, cutAt);
      const asked = await gateway.store.sql("select 1 from approvals where run_id = $1", [runId]);
      const changed = await gateway.store.sql("select 1 from sealed where run_id = $1 and field = 'change_set'", [
        runId,
      ]);
      const files = ["value.txt", "package.json"].map((path) => contentOf(workspaces.at(-1), path));

      expect({ files, asked: asked.length, changed: changed.length }, `cut at append ${cutAt}`).toEqual({
        files: ["two\n", "{}"],
        asked: 1,
        changed: 2,
      });
      expect(actions.filter(({ state }) => !statesAtRest.has(state))).toEqual([]);
    }
  });
});

describe("a manifest that the model changes, in a repository with a setup (AUD-21, SEC-72)", () => {
  const settings = "version: 1\nsetup: { run: npm ci }\nverify: { run: npm test }\n";
  const moves = [[["create_file", { path: "package.json", content: "{}" }]], finished] as const;
  const setupsOf = ({ session }: Awaited<ReturnType<typeof toTheEnd>>) =>
    (session()?.outcomes ?? []).filter(({ tool }) => tool === "run_setup");

  it("is set up and verified by the yes that let it in, which is on record with the decision", async () => {
    const ended = await toTheEnd(moves, null, { settings });
    const after = setupsOf(ended).at(-1);

    expect(ended.ends).toEqual(["waiting", "finished"]);
    expect(ended.actions).toContainEqual({ tool: "run_setup", state: "succeeded", count: 4 });
    expect(ended.actions).toContainEqual({ tool: "run_verification", state: "succeeded", count: 2 });
    const { texts } = await gateway.readAgain(after?.actionId as ActionId);
    expect(JSON.parse(texts.request ?? "")).toMatchObject([{ approved: true, input: { changed_dependencies: true } }]);
  });

  it("is asked about before it is set up where no person said yes to it", async () => {
    const ended = await toTheEnd(moves, null, { settings, isManifestFree: true });

    expect(ended.ends).toEqual(["waiting", "finished"]);
    expect(await questionsOf(ended.runId)).toEqual([{ tool: "run_setup", state: "succeeded" }]);
    const asked = setupsOf(ended).at(-1)?.decision;
    expect(asked?.requests).toMatchObject([{ approved: true, input: { changed_dependencies: true } }]);
  });
});

const questionsOf = (runId: string) =>
  gateway.store.sql<{ tool: string; state: string }>(
    `select a.tool, a.state from approvals join actions a using (action_id) where approvals.run_id = $1
      order by a.first_index`,
    [runId],
  );

describe("the host's own commands, where a policy asks for them (AUD-19, AUD-28, AUD-66)", () => {
  const settings = "version: 1\nsetup: { run: npm ci }\nverify: { run: npm test }\n";
  const moves = [[["create_file", { path: "note.txt", content: "two\n" }]], finished] as const;
  const countOf = ({ actions }: Awaited<ReturnType<typeof toTheEnd>>, tool: string) =>
    actions.filter((action) => action.tool === tool).map(({ state, count }) => [state, Number(count)]);

  it("a setup is asked about once, and its yes holds in each checkout with the same files (AUD-21, AUD-35)", async () => {
    const ended = await toTheEnd(moves, null, { settings, asked: ["run_setup"] });

    expect(ended.ends).toEqual(["waiting", "finished"]);
    expect(await questionsOf(ended.runId)).toEqual([{ tool: "run_setup", state: "succeeded" }]);
    expect(countOf(ended, "run_setup")).toEqual([["succeeded", 3]]); // before, at work and after
    expect(ended.world.asked).toBe(2);
  });

  it("a verification is asked about for each of its trees, and what came before is not done again", async () => {
    const ended = await toTheEnd(moves, null, { settings, asked: ["run_verification"] });

    expect(ended.ends).toEqual(["waiting", "waiting", "finished"]);
    expect(countOf(ended, "run_verification")).toEqual([["succeeded", 2]]);
    expect(countOf(ended, "create_file")).toEqual([["succeeded", 1]]);
    expect(ended.world.asked).toBe(2);
  });

  it("at a terminal each is asked about there, as it comes (AUD-28)", async () => {
    const ended = await toTheEnd(moves, null, {
      settings,
      asked: ["run_setup", "run_verification"],
      isAtTerminal: true,
    });

    expect(ended.ends).toEqual(["finished"]);
    expect(ended.world.yesCount).toBe(5); // three checkouts are set up, two are verified
    expect(countOf(ended, "run_verification")).toEqual([["succeeded", 2]]);
  });

  it("a setup that is refused is not done, and the run ends by it", async () => {
    const opened = await openWorld(moves, null, { settings, asked: ["run_setup"] });
    opened.world.answer = "refused";
    const ends = [await opened.work()];
    await opened.answerAll();
    ends.push(await opened.work());

    expect(ends).toEqual(["waiting", "setup_failed"]);
    expect(await questionsOf(opened.runId)).toEqual([{ tool: "run_setup", state: "approval_refused" }]);
    expect(opened.world.asked).toBe(0);
  });

  it("a yes is no yes under other policies: it is asked anew (AUD-35)", async () => {
    const opened = await openWorld(moves, null, { settings, asked: ["run_setup", "run_verification"] });
    const ends = [await opened.work()];
    await opened.answerAll();
    ends.push(await opened.work()); // set up with the yes, and now asked about the verification
    await opened.answerAll();
    opened.world.policySet = "another";
    ends.push(await opened.work());

    expect(ends).toEqual(["waiting", "waiting", "waiting"]);
    expect(await questionsOf(opened.runId)).toEqual([
      { tool: "run_setup", state: "succeeded" },
      { tool: "run_verification", state: "approval_granted" },
      { tool: "run_setup", state: "approval_pending" },
    ]);
  });

  it("whose worker ends at any entry are asked about once, and all is at rest at the end (AUD-6)", async () => {
    const wish = { settings, asked: ["run_setup", "run_verification"] };
    const { world } = await toTheEnd(moves, null, wish);
    for (let cutAt = 1; cutAt <= world.appends; cutAt += 9) {
      const { actions, workspaces, runId } = await toTheEnd(moves, cutAt, wish);
      const questions = (await questionsOf(runId)).map(({ tool }) => tool);

      expect(contentOf(workspaces.at(-1), "note.txt"), `cut at append ${cutAt}`).toBe("two\n");
      expect(questions, `cut at append ${cutAt}`).toEqual(["run_setup", "run_verification", "run_verification"]);
      expect(actions.filter(({ state }) => !statesAtRest.has(state))).toEqual([]);
    }
  });
});

it("a question whose time is over ends by the job of the queue; the model is told and the run goes on (AUD-38)", async () => {
  const { runId, deps, work, world } = await openWorld(oneQuestion, null);
  const ends = [await work()];
  await gateway.store.sql(
    `insert into runs (run_id, trace_id, repository_id, repository_name, requester_id, requester_login,
       requester_permission, issue_number, base_sha, status, fencing_token, started_at, limits, installation_id)
     select $1, $2, 1, 'octo/shop', '1001', 'ada', 'write', 7, '', 'waiting', 1, now(), '{}', 31`,
    [runId, deps.keys.traceId(runId)],
  );
  gateway.log.now.ms += 24 * approvalMs - 1; // of the day that is given by default
  await lookAtQuestions(deps, runId); // the job is due a moment after the question's time
  const statesThen = await actionsOf(runId);
  gateway.log.now.ms += 1;

  const done = new AbortController();
  const queue = await gateway.store.queue();
  await queue.work(
    runJob,
    async () => {
      const [run] = await gateway.store.sql<{ status: string }>("select status from runs where run_id = $1", [runId]);
      if (run?.status === "waiting") return lookAtQuestions(deps, runId);
      ends.push(await work());
      done.abort();
    },
    done.signal,
  );

  expect(statesThen).toContainEqual({ tool: "create_file", state: "approval_pending", count: 1 });
  expect(ends).toEqual(["waiting", "finished"]);
  expect(await actionsOf(runId)).toContainEqual({ tool: "create_file", state: "approval_expired", count: 1 });
  expect(world.told).toContain("approval_expired");
}, 60_000);
