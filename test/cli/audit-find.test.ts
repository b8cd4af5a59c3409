import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { runCommandLine } from "../../src/cli/index.ts";
import { argumentsDigest, createRedactor, Secret } from "../../src/domain/index.ts";
import { type Keys, type Ledger, openKeys, type RunLease } from "../../src/ledger/index.ts";
import {
  type ActionEnd,
  aMove,
  newTestActionId,
  openTestLedger,
  recordAction,
  type TestLedger,
} from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";

const Found = z.array(
  z.object({
    action_id: z.string(),
    run_id: z.string(),
    tool: z.string(),
    event: z.object({ actor: z.string(), outcome: z.string() }),
  }),
);

let store: TestStore;
let test: TestLedger;
let folder: string;
let now: TestLedger["now"];
let keys: Keys;
let ledger: Ledger;

beforeAll(async () => {
  store = await openTestStore();
  test = await openTestLedger(store);
  ({ keys, ledger, now } = test);
  folder = mkdtempSync(join(tmpdir(), "countersign-find-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await test[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const newRun = (): Promise<RunLease> => test.newRun();

/** An action with the digest that a real one would have. */
async function record(lease: RunLease, canonical: string, end: ActionEnd = "succeeded"): Promise<string> {
  const digest = argumentsDigest(await keys.runKey(lease.runId), Buffer.from(canonical));
  return recordAction(ledger, lease, end, { raw: canonical, canonical, result: "done", digest });
}

const notAsked = (): never => {
  throw new Error("`audit find` asks for nothing but the records");
};

/** The command in this process, on the records of this test; with keys read anew, as each process reads them. */
async function audit(...argv: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const terminal = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
    isLive: false,
    redact: createRedactor([new Secret("planted-secret")]).redact,
    isOutTerminal: false,
    columns: 80,
    readAll: notAsked,
    ask: null,
  };
  const exitCode = await runCommandLine(["audit", ...argv], {
    terminal,
    version: "0.0.0",
    clock: () => now.ms,
    randomBytes,
    signal: new AbortController().signal,
    folder,
    requester: { id: "local:test", login: "test", permission: "admin" },
    openService: notAsked,
    openPublishing: notAsked,
    register: notAsked,
    demo: notAsked,
    openRecords: async () => ({
      store,
      ledger,
      keys: await openKeys({ randomBytes }, test.keysFolder),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
    policiesFolder: "/",
    openRuns: notAsked,
    examine: notAsked,
    bench: notAsked,
    toolSchemas: notAsked,
    schemasFolder: "",
  });
  return { exitCode, stdout: out.join(""), stderr: err.join("") };
}

const find = (...argv: readonly string[]) => audit("find", ...argv);

async function foundIds(...argv: readonly string[]): Promise<readonly string[]> {
  const ended = await find(...argv, "--json");
  expect(ended, ended.stderr).toMatchObject({ exitCode: 0, stderr: "" });
  return Found.parse(JSON.parse(ended.stdout)).map(({ action_id }) => action_id);
}

describe("audit find (AUD-17)", () => {
  it("by run and by trace gives that run's actions, newest first, and no others", async () => {
    const [one, other] = [await newRun(), await newRun()];
    const first = await record(one, '{"path":"a"}');
    await record(other, '{"path":"a"}');
    const second = await record(one, '{"path":"b"}', "denied");
    const proposal = aMove(one.runId, newTestActionId(), "proposed", {
      traceId: keys.traceId(one.runId),
      evidence: { tool: "edit_file" },
    });
    await ledger.append(one, { entries: [proposal], sealed: [] });

    expect(await foundIds("--run", one.runId)).toEqual([proposal.actionId, second, first]);
    expect(await foundIds("--trace", keys.traceId(one.runId))).toEqual([proposal.actionId]);
    expect(await foundIds("--run", one.runId, "--tool", "edit_file")).toEqual([proposal.actionId]);
    expect(await foundIds("--trace", "0".repeat(32))).toEqual([]);
  });

  it("by arguments finds them in whatever run and spelling, and only them", async () => {
    const [one, other] = [await newRun(), await newRun()];
    const wanted = [await record(one, '{"line":7,"path":"ü"}'), await record(other, '{"line":7,"path":"ü"}', "denied")];
    await record(one, '{"line":8,"path":"ü"}');
    writeFileSync(join(folder, "arguments.json"), '{ "path": "\\u00fc",\n "line": 7.0 }');

    expect(await foundIds("--arguments", "arguments.json")).toEqual(wanted.toReversed());
    expect(await foundIds("--arguments", "arguments.json", "--run", one.runId)).toEqual([wanted[0]]);
  });

  it("by arguments names the runs that nobody can test any more", async () => {
    const lease = await newRun();
    await record(lease, '{"path":"erased"}');
    const tested = await record(await newRun(), '{"path":"erased"}');
    rmSync(join(test.keysFolder, "runs", lease.runId, "salt.key"));
    writeFileSync(join(folder, "erased.json"), '{"path":"erased"}');

    const ended = await find("--arguments", "erased.json", "--json");

    expect(Found.parse(JSON.parse(ended.stdout)).map(({ action_id }) => action_id)).toEqual([tested]);
    expect(ended.stderr).toBe(`countersign: run ${lease.runId} can't be tested: its keys are erased or missing\n`);
    expect(ended.exitCode).toBe(0);
  });

  it("by arguments takes no digest's word for it: a commitment to other arguments is told", async () => {
    const lease = await newRun();
    const canonical = '{"path":"forged"}';
    const digest = argumentsDigest(await keys.runKey(lease.runId), Buffer.from(canonical));
    const texts = { raw: canonical, canonical: '{"path":"real"}', result: "done", digest };
    const actionId = await recordAction(ledger, lease, "succeeded", texts);
    writeFileSync(join(folder, "forged.json"), canonical);

    const ended = await find("--arguments", "forged.json", "--run", lease.runId);

    expect(ended).toMatchObject({ exitCode: 1, stdout: "no action on record agrees\n" });
    expect(ended.stderr).toContain(`action ${actionId} has the digest of these arguments and commits to others`);
  });

  it("by actor and time", async () => {
    const lease = await newRun();
    const early = await record(lease, '{"path":"early"}');
    now.ms += 86_400_000;
    const [byRun, byPerson] = [newTestActionId(), newTestActionId()];
    const evidence = { tool: "read_file" };
    const entries = [
      aMove(lease.runId, byRun, "proposed", { actor: { kind: "run", runId: lease.runId }, evidence }),
      aMove(lease.runId, byPerson, "proposed", { actor: { kind: "person", reference: "abc123" }, evidence }),
    ];
    await ledger.append(lease, { entries, sealed: [] });
    const ofRun = (...argv: readonly string[]) => foundIds("--run", lease.runId, ...argv);

    expect(await ofRun("--actor", "run")).toEqual([byRun]);
    expect(await ofRun("--actor", `run:${lease.runId}`)).toEqual([byRun]);
    expect(await ofRun("--actor", "person:abc123")).toEqual([byPerson]);
    expect(await ofRun("--actor", "system")).toEqual([early]);
    expect(await ofRun("--since", new Date(now.ms).toISOString())).toEqual([byPerson, byRun]);
    expect(await ofRun("--since", "2026-01-01")).toEqual([byPerson, byRun, early]);
    expect(await ofRun("--since", "1m")).toEqual([byPerson, byRun]);
    expect(await ofRun("--since", "2d")).toEqual([byPerson, byRun, early]);
  });

  it("prints a table for people, and says so where nothing agrees", async () => {
    const lease = await newRun();
    const actionId = await record(lease, '{"path":"a"}', "denied");

    const found = await find("--run", lease.runId);
    const nothing = await find("--tool", "no_such_tool");

    expect(found.stdout).toMatch(/^ACTION +RUN +PROPOSED +TOOL +ALLOWED +OUTCOME\n/);
    expect(found.stdout).toContain(`${actionId}  ${lease.runId}  2026-01-02T00:00:00.000Z  read_file  no       denied`);
    expect(nothing).toMatchObject({ exitCode: 0, stdout: "no action on record agrees\n", stderr: "" });
  });

  it("shows the newest 50 where nothing is asked, and says that there are more", async () => {
    const lease = await newRun();
    const entries = Array.from({ length: 51 }, () => aMove(lease.runId, newTestActionId(), "proposed"));
    await ledger.append(lease, { entries, sealed: [] });

    const ended = await find("--json");

    expect(Found.parse(JSON.parse(ended.stdout)).map(({ action_id }) => action_id)).toEqual(
      entries
        .slice(1)
        .map(({ actionId }) => actionId)
        .toReversed(),
    );
    expect(ended.stderr).toMatch(/^countersign: these are the newest 50: there are more, [^\n]+\n$/);
  });

  it.each([
    [["--run", "not-an-id"], "--run: `not-an-id` is no run id"],
    [["--trace", "ABC"], "--trace: `ABC` is no trace id: expected 32 lower-case hex digits"],
    [["--actor", "someone"], "--actor: got `someone`, expected "],
    [["--since", "yesterday"], "--since: got `yesterday`, expected "],
    [["--since", "2026-13-01"], "--since: got `2026-13-01`, expected "],
    [["--arguments", "nowhere.json"], "--arguments: `nowhere.json` can't be read"],
    [["--arguments", "bad.json"], "`bad.json` is not plain JSON: duplicate_key at offset "],
  ])("refuses %j with one line", async (argv, message) => {
    writeFileSync(join(folder, "bad.json"), '{"a":1,"a":2}');

    const ended = await find(...argv);

    expect(ended).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ended.stderr).toContain(`countersign: ${message}`);
    expect(ended.stderr).toMatch(/^[^\n]+\[USAGE\]\n$/);
  });
});

it("audit show cuts a long text after its secrets were taken out, and indents none: no half of one is left (SEC-100)", async () => {
  const canonical = '{"path":"a"}';
  const result = `${"x".repeat(3_985)}planted-secret${"y".repeat(100)}`;
  const long = await recordAction(ledger, await newRun(), "succeeded", { raw: canonical, canonical, result });

  const { stdout } = await audit("show", long);

  expect(stdout).toContain(`${"x".repeat(1_000)}[redact`);
  expect(stdout).toContain(" (cut)");
  expect(stdout).not.toMatch(/plant|yyyy/);
});

describe("audit hash (AUD-17)", () => {
  it("prints the canonical length, and in a run the digest that its actions have", async () => {
    const lease = await newRun();
    const file = join(folder, "value.json");
    writeFileSync(file, '{ "b": 1, "a": "\\u0041" }');

    const alone = await audit("hash", file);
    const inRun = await audit("hash", "--run", lease.runId, file);

    const digest = argumentsDigest(await keys.runKey(lease.runId), Buffer.from('{"a":"A","b":1}'));
    expect(alone.stdout).toBe("15 bytes in canonical form\n");
    expect(inRun.stdout).toBe(`15 bytes in canonical form\n${digest}\n`);
  });

  it("refuses what the gate refuses, with its code", async () => {
    const file = join(folder, "twice.json");
    writeFileSync(file, '{"a":1,"a":2}');

    expect(await audit("hash", file)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("duplicate_key") });
  });
});

describe("audit show (AUD-9)", () => {
  it.each<[ActionEnd, RegExp, RegExp]>([
    ["succeeded", /^authorized {2}yes, by policy `allow-all`$/m, /^not done {4}nothing: it was done as asked$/m],
    ["denied", /^authorized {2}no, by polic/m, /^not done {4}forbidden by polic/m],
    ["invalid", /^authorized {2}nothing was decided$/m, /^not done {4}refused at /m],
    ["failed_definite", /^authorized {2}yes, by policy `allow-all`$/m, /^not done {4}\S+.*: /m],
  ])("tells of an action that is %s who let it be done, and what was not done and why", async (end, by, notDone) => {
    const id = await record(await newRun(), '{"path":"shown"}', end);

    const { stdout, exitCode } = await audit("show", id);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^proposed {4}/m);
    expect(stdout).toMatch(/^validated {3}/m);
    expect(stdout).toMatch(by);
    expect(stdout).toMatch(/^effect {6}/m);
    expect(stdout).toMatch(notDone);
  });

  it("finds an action by the approval that was asked for", async () => {
    const lease = await newRun();
    const id = await record(lease, '{"path":"asked"}');
    const approvalId = randomUUID();
    await store.sql(
      "insert into approvals (approval_id, action_id, run_id, bindings, expires_at) values ($1, $2, $3, '{}', now())",
      [approvalId, id, lease.runId],
    );

    expect((await audit("show", approvalId)).stdout).toContain(`action      ${id}`);
  });

  it.each([randomUUID(), "nonsense"])(
    "says of an unknown id that it is, and how to list what there is: %s",
    async (id) => {
      expect(await audit("show", id)).toMatchObject({
        exitCode: 1,
        stdout: "",
        stderr: `countersign: there is no run, action or approval \`${id}\` in the ledger; list runs with \`countersign runs list\`, actions with \`countersign audit find\`; \`countersign audit show <action>\` names its approval [NOT_FOUND]\n`,
      });
    },
  );
});
