import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthorizedAction, seal } from "../../src/gateway/authorized-action.ts";
import { execute } from "../../src/gateway/execute.ts";
import { takeFacts, toRequests } from "../../src/gateway/facts.ts";
import * as door from "../../src/gateway/index.ts";
import { perform } from "../../src/gateway/index.ts";
import { parse } from "../../src/gateway/parse.ts";
import { openTrail } from "../../src/gateway/trail.ts";
import { type ReadyAction, validate } from "../../src/gateway/validate.ts";
import { createFakeWorkspace, type FakeWorkspace } from "../support/fake-workspace.ts";
import { aCall, never, openTestGateway, type TestGateway, type TestRun } from "../support/gateway.ts";

const src = join(import.meta.dirname, "../../src");
const sources = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(join(src, path), "utf8") }));
const naming = (form: RegExp, apart: RegExp): string[] =>
  sources.filter(({ path, text }) => !apart.test(path) && form.test(text)).map(({ path }) => path);

/** Whoever would get an effect past the gateway needs one of its hands, or something that looks as if a decision had been made. */
describe("no way to an effect but the gateway (AUD-1, AUD-5)", () => {
  it("its door hands out no act and no hand", () => {
    const functions = Object.entries(door).filter(([, value]) => typeof value === "function");

    expect(functions.map(([name]) => name).toSorted()).toEqual([
      ...["answerApproval", "createCatalogue", "createFingerprints", "createSavedPages", "isYesUnchanged"],
      ...[
        "modelTools",
        "openSealedChangeSet",
        "passCommitGate",
        "perform",
        "readButton",
        "readStoredQuestion",
        "reconcileOpen",
      ],
      ...["recordExpiry", "recordPersonsAnswer", "refusalsOfFile", "refusalsOfLockfile", "resolveByPerson"],
      ...["sealedChangeSet", "takeUp", "toButtons", "toolSchemas", "unrecordedOutcome"],
    ]);
  });

  it("only what takes up a run makes a writer, and gives it to the context of the gateway", () => {
    const makers = naming(/\.writer\(/, /^(github|bench)\//);

    expect(makers.toSorted()).toEqual(
      ["answer-delivery", "github-job", "left-writes", "run-for-pull-request"].map(
        (name) => `run/on-github/${name}.ts`,
      ),
    );
    for (const { text } of sources.filter(({ path }) => makers.includes(path))) {
      const uses = text.match(/\.writer\(/g)?.length;
      expect(text.match(/(?<=hostContext\(deps, \{.*?)writer: (deps\.)?github\.writer\(/gs)).toHaveLength(uses ?? 0);
    }
  });

  it("only its descriptions of actions use the hands on a checkout or on GitHub", () => {
    const handsOnTrees = /workspace\)?\s*\.(exec|execApart|replaceFile|createFile|deleteFile|setUp)\(/;
    const handsOnGithub = /(writer|github)\s*\.(write|look)\(|\bsend\(\{ method/;

    expect(naming(handsOnTrees, /^(gateway|workspace|bench)\//)).toEqual([]);
    expect(naming(handsOnGithub, /^(gateway|github)\//)).toEqual([]);
    expect(naming(/ = seal\(|return seal\(/, /^$/)).toEqual(["gateway/perform.ts", "gateway/take-up.ts"]);
  });

  it("no other room asks GitHub's API or a model's tool for anything by itself", () => {
    expect(naming(/from "@octokit/, /^github\//)).toEqual([]);
    expect(naming(/\bfetch\(/, /^(github|demo|bench|ledger\/trace)\//)).toEqual([]);
  });
});

describe("an action that only looks authorized", () => {
  let gateway: TestGateway;
  let workspace: FakeWorkspace;
  let run: TestRun;
  beforeAll(async () => {
    gateway = await openTestGateway();
    workspace = createFakeWorkspace({ "src/a.ts": "a" });
    run = await gateway.newRun(workspace);
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  /** A command, with a denial or a yes of the policy for it. */
  async function decided(effect: "allow" | "deny") {
    const proposed = aCall(run, "run_command", { command: "touch past-the-gateway" });
    const parsed = parse(gateway.deps.catalogue, proposed);
    if (parsed.kind === "refused") throw new Error("the sample does not parse");
    const facts = await takeFacts(run, parsed);
    if (facts.kind === "refused") throw new Error("the sample has no facts");
    const decision = gateway.deps.authorize(toRequests(run, parsed, facts, false), run.repositoryPolicies);
    return { proposed, parsed, facts, decision: { ...decision, effect } };
  }
  const sealedOf = ({ parsed, facts, decision }: Awaited<ReturnType<typeof decided>>) => seal(parsed, facts, decision);

  it("is refused where it was made by hand, copied or read from JSON, before anything is looked at", async () => {
    const allowed = sealedOf(await decided("allow"));
    const byHand = { ...(await decided("deny")), kind: "authorized", decidedBytes: new Uint8Array() };
    if (allowed.kind !== "authorized") throw new Error("the sample is not allowed");

    for (const forged of [byHand, { ...allowed }, structuredClone({ kind: "authorized" }), Object.create(allowed)]) {
      await expect(validate(run, forged as unknown as AuthorizedAction, never)).rejects.toThrow("no decision allowed");
      const effect = () => workspace.exec({ program: { kind: "shell", script: "true" }, timeoutMs: 1 }, never);
      const ready = { kind: "ready", authorized: forged, preconditions: [], intent: {}, effect, settlement: null };
      const trail = openTrail(gateway.deps.randomBytes, (await decided("deny")).proposed, 0);
      await expect(execute(trail, ready as unknown as ReadyAction, never)).rejects.toThrow("no decision allowed");
    }
    expect(workspace.requests).toEqual([]);
  });

  it("is not made of a denial or of a question", async () => {
    const denied = sealedOf(await decided("deny"));

    expect(denied.kind).toBe("denied");
    await expect(validate(run, denied as unknown as AuthorizedAction, never)).rejects.toThrow("no decision allowed");
  });

  it("can't be given other arguments once it is sealed", async () => {
    const allowed = sealedOf(await decided("allow")) as { parsed: unknown };

    expect(() => {
      allowed.parsed = null;
    }).toThrow(TypeError);
  });
});

it("undoing is a new action, decided and recorded like any other, that names what it undoes (AUD-8)", async () => {
  await using gateway = await openTestGateway();
  const run = await gateway.newRun(createFakeWorkspace({ "src/a.ts": "a" }));
  const done = await perform(gateway.deps, run, aCall(run, "create_file", { path: "src/b.ts", content: "b" }), never);
  const undo = aCall(run, "delete_file", { path: "src/b.ts" }, { compensates: done.actionId });

  await perform(gateway.deps, run, undo, never);
  const { action, states } = await gateway.readAgain(undo.actionId);

  expect(states.slice(0, 4)).toEqual(["proposed", "authorized", "intent_recorded", "started"]);
  expect(action.states[0]?.evidence).toMatchObject({ compensates: done.actionId });
  expect(action.decisions).toHaveLength(1);
});
