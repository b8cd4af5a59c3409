import { describe, expect, it } from "vitest";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import { createActor, settings } from "./act.ts";

const answering = (result: ReturnType<typeof anExecResult>) => createFakeWorkspace({ "a.txt": "one\n" }, () => result);
const bodyOf = (text: string): readonly string[] => text.split("\n").slice(1);

describe("run_command", () => {
  it("tells output, silence and failure apart (ACI-53)", async () => {
    await using loud = await createActor(answering(anExecResult("hello\n")));
    await using silent = await createActor(answering(anExecResult("")));
    await using failing = await createActor(answering(anExecResult("boom\n", { exitCode: 3 })));
    await using killed = await createActor(answering(anExecResult("", { exitCode: null, signal: "SIGSEGV" })));

    const ok = await loud.call("run_command", { command: "a" });
    const empty = await silent.call("run_command", { command: "a" });
    const failed = await failing.call("run_command", { command: "a" });
    const ended = await killed.call("run_command", { command: "a" });

    expect(ok).toMatchObject({ status: "ok", text: "ok: exit code 0; 5 ms\nhello" });
    expect(empty).toMatchObject({ status: "empty", text: "empty: no output; exit code 0; 5 ms" });
    expect(failed).toMatchObject({
      status: "failed",
      text: "failed: exit code 3; 5 ms\nboom",
      record: { exit_code: 3 },
    });
    expect(ended).toMatchObject({ status: "failed", record: { exit_code: null, signal: "SIGSEGV" } });
    expect(ended.text).toContain("ended by signal SIGSEGV");
  });

  it("keeps long output as a page, whose lines are those that the note counts", async () => {
    const output = Array.from({ length: 4_000 }, (_, index) =>
      index === 2_730 ? "error: here" : `line ${index + 1}`,
    ).join("\n");
    await using actor = await createActor(answering(anExecResult(`${output}\n`, { exitCode: 1 })));

    const failed = await actor.call("run_command", { command: "make" });
    const next = await actor.call("read_file", { path: "out:1", line_from: 2_731, line_count: 1 });

    expect(bodyOf(failed.text)).toHaveLength(100);
    expect(failed.record).toMatchObject({
      total_lines: 4_000,
      omitted_lines: 3_901,
      page: "out:1",
      next: { tool: "read_file", arguments: { path: "out:1", line_from: 50 } },
    });
    expect(bodyOf(next.text)).toEqual(["2731\terror: here"]);
  });

  it("puts what the command changed down to it, with the tree's fingerprint before and after", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n", "b.txt": "b\n" }, (_request, files) => {
      files.set("a.txt", Buffer.from("two\n"));
      files.set("new.txt", Buffer.from("new\n"));
      files.delete("b.txt");
      return anExecResult();
    });
    await using actor = await createActor(workspace);

    const prepared = await actor.prepare("run_command", { command: "gen" });
    const answer = await actor.finish("run_command", { command: "gen" }, prepared);

    expect(answer.text).toContain("files changed: M a.txt, D b.txt, A new.txt");
    expect(answer.record).toMatchObject({ changed_count: 3 });
    const { tree_before: before, tree_after: after } = answer.record as { tree_before: string; tree_after: string };
    expect(before).not.toBe(after);
  });

  it("sends the script as it is, and cuts the timeout to what the run has left (ACI-54, ACI-58)", async () => {
    const workspace = answering(anExecResult());
    await using actor = await createActor(workspace, { leftMs: 20_000 });
    const command = `echo ${"x".repeat(200_000)} '"$&`;

    await actor.call("run_command", { command, timeout_s: 600 });
    await actor.call("run_command", { command: "true", timeout_s: 5 });

    expect(workspace.requests).toEqual([
      { program: { kind: "shell", script: command }, timeoutMs: 20_000 },
      { program: { kind: "shell", script: "true" }, timeoutMs: 5_000 },
    ]);
  });

  it("starts nothing that the run has no time for", async () => {
    const workspace = answering(anExecResult());
    await using actor = await createActor(workspace, { leftMs: 500 });

    const refused = await actor.call("run_command", { command: "true" });

    expect(refused.refusal?.code).toBe("budget_exceeded");
    expect(workspace.requests).toEqual([]);
  });

  it("tells a timeout with limit, remedy and the output so far, within the caps", async () => {
    const output = Array.from({ length: 500 }, (_, index) => `line ${index + 1} ${"x".repeat(200)}`).join("\n");
    const result = anExecResult(output, {
      exitCode: null,
      signal: "SIGKILL",
      timedOut: true,
      durationMs: 60_100,
      killed: ["sleep"],
    });
    await using actor = await createActor(answering(result));

    const failed = await actor.call("run_command", { command: "sleep 99" });

    expect(failed).toMatchObject({
      status: "failed",
      refusal: { code: "timed_out", example: { arguments: { timeout_s: 120 } } },
      record: { timed_out: true, code: "timed_out" },
    });
    expect(failed.text).toContain("stopped at its limit of 60 s after 60100 ms; killed: sleep");
    expect(bodyOf(failed.text).length).toBeLessThanOrEqual(100);
    expect(Buffer.byteLength(bodyOf(failed.text).join("\n"))).toBeLessThanOrEqual(12_288);
    expect(failed.text).toContain("line 500 ");
  });

  it("names the limit of the sandbox that was reached, to the model and in the record (SEC-57)", async () => {
    const limit = { kind: "memory", atMost: 4_294_967_296 } as const;
    const result = anExecResult("so far\n", { exitCode: null, signal: "SIGKILL", limit });
    await using actor = await createActor(answering(result));

    const failed = await actor.call("run_command", { command: "hog" });

    expect(failed).toMatchObject({
      status: "failed",
      text: "failed: killed at the sandbox's limit of 4294967296 bytes of memory; 5 ms\nso far",
      record: { exit_code: null, limit: "4294967296 bytes of memory" },
    });
  });

  it("lists what was left running", async () => {
    await using actor = await createActor(answering(anExecResult("done\n", { killed: ["sleep"] })));

    const answer = await actor.call("run_command", { command: "sleep 60 & echo done" });

    expect(answer.status).toBe("ok");
    expect(answer.text).toContain("left running and killed: sleep");
  });

  it("names a missing program, and where to look", async () => {
    await using actor = await createActor(
      answering(anExecResult("/opt/command/script: line 1: cargo: command not found\n", { exitCode: 127 })),
    );

    const answer = await actor.call("run_command", { command: "cargo test" });

    expect(answer.text).toContain("program `cargo` is missing in the sandbox (see `countersign doctor --sandbox`)");
  });

  it("fails where the command left what can't be taken over, and says what", async () => {
    const workspace = createFakeWorkspace({});
    const broken = {
      ...workspace,
      takeChanges: () => Promise.resolve({ kind: "refused", causes: ["`pipe` is a FIFO"] } as const),
    };
    await using actor = await createActor(broken);

    const answer = await actor.call("run_command", { command: "mkfifo pipe" });

    expect(answer.status).toBe("failed");
    expect(answer.text).toContain("remove it: `pipe` is a FIFO");
  });
});

describe("run_tests (ACI-29)", () => {
  const spec = "✖ adds (1.2ms)\nℹ tests 3\nℹ pass 1\nℹ fail 1\nℹ skipped 1\n";

  it("runs the verify command, and shows counts and failing names first", async () => {
    const workspace = answering(anExecResult(spec, { exitCode: 1 }));
    await using actor = await createActor(workspace);

    const answer = await actor.call("run_tests", { filter: null });

    expect(workspace.requests[0]?.program).toEqual({ kind: "shell", script: "make test" });
    expect(answer).toMatchObject({
      status: "failed",
      record: { passed_count: 1, failed_count: 1, skipped_count: 1, failing: ["adds"], runner: "node" },
    });
    expect(bodyOf(answer.text)[0]).toBe("failing: adds");
  });

  it("stays within the caps with many failing names", async () => {
    const output = Array.from({ length: 200 }, (_, index) => `not ok ${index} - ${"x".repeat(140)} ${index}`).join(
      "\n",
    );
    await using actor = await createActor(answering(anExecResult(output, { exitCode: 1 })));

    const answer = await actor.call("run_tests", {});

    expect(bodyOf(answer.text).length).toBeLessThanOrEqual(100);
    expect(Buffer.byteLength(bodyOf(answer.text).join("\n"))).toBeLessThanOrEqual(12_288);
    expect(bodyOf(answer.text)[20]).toBe("failing: and 30 more");
  });

  it("puts changes of files down to no action (SEC-91)", async () => {
    const workspace = createFakeWorkspace({ "a.txt": "one\n" }, (_request, files) => {
      files.set("snapshot.txt", Buffer.from("x"));
      return anExecResult("ok\n");
    });
    await using actor = await createActor(workspace);

    const answer = await actor.call("run_tests", {});
    const finish = await actor.call("finish", { title: "t", summary: "s" });

    expect(answer.record).toMatchObject({ changed_count: 1 });
    expect(answer.text).toContain("never part of the patch");
    expect(finish.refusal?.code).toBe("no_change");
  });

  it("passes a filter as one word where the settings say how", async () => {
    const workspace = answering(anExecResult("ok\n"));
    await using actor = await createActor(workspace, {
      settings: { ...settings, verifyFilter: "npm test -- {filter}" },
    });

    await actor.call("run_tests", { filter: `it's $& "x"; rm -rf /` });

    expect(workspace.requests[0]?.program).toMatchObject({ script: `npm test -- 'it'\\''s $& "x"; rm -rf /'` });
  });

  it("refuses a filter where the settings don't, and any call where there is no command", async () => {
    const workspace = answering(anExecResult());
    await using actor = await createActor(workspace);
    await using bare = await createActor(workspace, { settings: { ...settings, verifyCommand: null } });

    const filtered = await actor.call("run_tests", { filter: "adds" });
    const none = await bare.call("run_tests", {});

    expect(filtered.refusal).toMatchObject({
      code: "no_test_command",
      example: { tool: "run_command", arguments: { command: "make test 'adds'" } },
    });
    expect(none.refusal).toMatchObject({ code: "no_test_command", example: { tool: "run_command" } });
  });

  it("names the missing program of the verify command", async () => {
    await using actor = await createActor(
      answering(
        anExecResult("make: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", {
          exitCode: 2,
        }),
      ),
    );

    expect((await actor.call("run_tests", {})).text).toContain("program `pytest` is missing");
  });
});

describe("run_verification", () => {
  it("runs the command it is given, and is not offered to the model", async () => {
    const workspace = answering(anExecResult("Ran 5 tests in 0.1s\n\nOK\n"));
    await using actor = await createActor(workspace);

    const answer = await actor.call("run_verification", {
      stage: "before",
      command: "python3 -m unittest",
      timeout_s: 600,
    });

    expect(workspace.requests[0]).toMatchObject({ timeoutMs: 600_000 });
    expect(answer.record).toMatchObject({ passed_count: 5, failed_count: 0, exit_code: 0 });
  });
});

describe("finish (ACI-31)", () => {
  const end = { title: "Mend it", summary: "Done." };

  it("asks once whether no change is meant, then ends the run with nothing to do", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.txt": "one\n" }));

    const asked = await actor.call("finish", end);
    const ended = await actor.call("finish", end);

    expect(asked).toMatchObject({ status: "refused", refusal: { code: "no_change" } });
    expect(ended).toMatchObject({ status: "ok", record: { nothing_to_do: true } });
  });

  it("ends at once after a change, and not after a change that was taken back", async () => {
    await using actor = await createActor(createFakeWorkspace({ "a.txt": "one\n" }));
    await actor.call("create_file", { path: "b.txt", content: "b\n" });
    await using undone = await createActor(createFakeWorkspace({ "a.txt": "one\n" }));
    await undone.call("create_file", { path: "b.txt", content: "b\n" });
    await undone.call("delete_file", { path: "b.txt" });

    expect((await actor.call("finish", end)).record).toMatchObject({ status: "ok", nothing_to_do: false });
    expect((await undone.call("finish", end)).refusal?.code).toBe("no_change");
  });
});
