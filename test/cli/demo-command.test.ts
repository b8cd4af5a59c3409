import { describe, expect, it } from "vitest";
import type { Demo } from "../../src/cli/index.ts";
import { commandLine } from "../support/cli.ts";
import { anOutcome, aReport } from "../support/outcomes.ts";

const pullRequest = {
  number: 2,
  url: "http://127.0.0.1:4000/octo-org/bookings/pull/2",
  headSha: "a".repeat(40),
  isDraft: false,
  isConfirmed: true,
  diffStat: { files: 1, added: 1, removed: 1 },
};
const edit = anOutcome({ tool: "edit_file" });

function aDemo(change: Partial<Demo> = {}, done: string[] = []): Demo {
  return {
    report: aReport({ pullRequest, diffStat: pullRequest.diffStat, actions: [edit] }),
    isHeadAsTested: true,
    ledger: { size: 9, rootHash: "BBBB", verified: true },
    trace: { spanCount: 12, isWhole: true },
    timings: [
      { part: "start", durationMs: 2100 },
      { part: "work", durationMs: 900 },
    ],
    hasSucceeded: true,
    home: "/srv/demo-1",
    publishedBy: edit.actionId,
    places: [{ name: "pull request", address: pullRequest.url }],
    keep: () => {
      done.push("kept");
      return Promise.resolve({ argumentsFile: "/srv/demo-1/arguments.json", sizeBytes: 41_000_000 });
    },
    [Symbol.asyncDispose]: () => {
      done.push("disposed");
      return Promise.resolve();
    },
    ...change,
  };
}

describe("demo", () => {
  it("shows its steps, then the table and what came of it, and how to keep it", async () => {
    const done: string[] = [];

    const ended = await commandLine(["demo"], {
      demo: (request, onEvent) => {
        onEvent({ kind: "step", text: "a local GitHub at http://127.0.0.1:4000" });
        onEvent({ kind: "phase", phase: "work" });
        expect(request).toEqual({ isReal: false });
        return Promise.resolve(aDemo({}, done));
      },
    });

    expect(ended).toMatchObject({ exitCode: 0, err: "a local GitHub at http://127.0.0.1:4000\n-- work\n" });
    expect(ended.out).toMatchInlineSnapshot(`
      "
      ACTION     DECISION  STATE      RESULT  TIME   REASON
      edit_file  allow     succeeded  ok      12 ms

      pull request  #2  http://127.0.0.1:4000/octo-org/bookings/pull/2
      change        1 file, +1 -1
      tests         npm test: before not run, after not run
      head          aaaaaaaaaaaa, fetched by git, exactly what was tested
      trace         01010101010101010101010101010101, 12 spans received, one whole tree
      ledger        9 entries, root BBBB, verified
      time          start 2.1 s, work 900 ms

      To trace one action yourself, keep it: npm run demo -- --keep
      "
    `);
    expect(done).toEqual(["disposed"]);
  });

  it("prints one JSON object alone where it is asked to", async () => {
    const ended = await commandLine(["demo", "--json"], {
      demo: () => Promise.resolve(aDemo({ report: aReport({ pullRequest, patchKept: "countersign runs patch 1" }) })),
    });

    expect(ended).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(ended.out)).toMatchObject({
      pull_request: { number: 2, head_sha: pullRequest.headSha },
      patch_kept: null,
      head_as_tested: true,
      ledger: { size: 9, root_hash: "BBBB", verified: true },
      trace: { spans: 12, whole: true },
      phases: [
        { name: "start", duration_ms: 2100 },
        { name: "work", duration_ms: 900 },
      ],
    });
  });

  it("ends with 1 and says what is wrong where not all of it holds", async () => {
    const failed = aDemo({
      report: aReport({ conclusion: "failure", cause: "the tests fail" }),
      isHeadAsTested: null,
      ledger: { size: 9, rootHash: "BBBB", verified: false },
      trace: { spanCount: 3, isWhole: false },
      hasSucceeded: false,
    });

    const ended = await commandLine(["demo"], { demo: () => Promise.resolve(failed) });

    expect(ended.exitCode).toBe(1);
    expect(ended.out).toContain("pull request  none: the tests fail\n");
    expect(ended.out).toContain("head          -, none\n");
    expect(ended.out).toContain("3 spans received, NOT WHOLE\n");
    expect(ended.out).toContain("root BBBB, NOT VERIFIED\n");
    expect(ended.out).not.toContain("To trace one action");
  });

  it("names commands and addresses that are good as long as it is kept, and ends at the signal", async () => {
    const done: string[] = [];
    const stop = new AbortController();
    const given = { demo: () => Promise.resolve(aDemo({}, done)), signal: stop.signal };

    const ended = await commandLine(["demo", "--keep", "--real"], given, (text) => {
      if (text.includes("Ctrl-C stops it")) setImmediate(() => stop.abort());
    });

    expect(ended.exitCode).toBe(0);
    const command = "  COUNTERSIGN_HOME=/srv/demo-1 npx --no -- countersign";
    expect(ended.out).toContain(`${command} audit show ${edit.actionId}\n`);
    expect(ended.out).toContain(`${command} audit find --arguments /srv/demo-1/arguments.json\n`);
    expect(ended.err).toContain(`  pull request  ${pullRequest.url}\n`);
    expect(ended.err).toContain("the record stays in /srv/demo-1 until you remove that folder:\n");
    expect(ended.err).toContain("  rm -rf /srv/demo-1    # 40 MiB\n");
    expect(ended.err).toMatch(/\nstopped\n$/);
    expect(done).toEqual(["kept", "disposed"]);
  });
});
