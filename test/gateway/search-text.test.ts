import { describe, expect, it } from "vitest";
import { bodyBytes } from "../../src/gateway/result-text.ts";
import { centredLine } from "../../src/gateway/search-body.ts";
import { anExecResult, createFakeWorkspace } from "../support/fake-workspace.ts";
import { runOnFiles } from "../support/real-ripgrep.ts";
import { createActor } from "./act.ts";

const actorOn = (files: Readonly<Record<string, string | Uint8Array>>) =>
  createActor(createFakeWorkspace(files, runOnFiles));
const bodyOf = (text: string): readonly string[] => text.split("\n").slice(1);

describe("search_text", () => {
  it("groups matching lines by file in path order, with exact totals (ACI-21)", async () => {
    await using actor = await actorOn({
      "b.ts": "x\nfoo foo\n",
      "a.ts": "foo\ny\n",
      ".hidden": "foo\n",
      ".git/config": "foo\n",
    });

    const found = await actor.call("search_text", { pattern: "fo+" });

    expect(found.text).toBe(
      "ok: 3 matching lines (4 matches) in 3 files, 3 shown\n.hidden\n1:foo\na.ts\n1:foo\nb.ts\n2:foo foo",
    );
    expect(found.record).toMatchObject({
      matching_lines: 3,
      matches_count: 4,
      files_count: 3,
      exact: true,
      omitted_lines: 0,
    });
  });

  it("shows lines around a match where asked", async () => {
    await using actor = await actorOn({ "a.ts": "1\n2\nfoo\n4\n5\n" });

    const found = await actor.call("search_text", { pattern: "foo", context_lines: 1 });

    expect(bodyOf(found.text)).toEqual(["a.ts", "2-2", "3:foo", "4-4"]);
  });

  it("shows at most 50 matching lines and builds a narrower call from the counts (ACI-22)", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 80 }, (_, index) => [`${index < 31 ? "src" : `lib${index}`}/f${index}.ts`, "foo\n"]),
    );
    await using actor = await actorOn(files);

    const found = await actor.call("search_text", { pattern: "foo" });

    expect(found.record).toMatchObject({
      matching_lines: 80,
      files_count: 80,
      next: { tool: "search_text", arguments: { pattern: "foo", path: "src" } },
    });
    expect(found.text).toContain('31 of 80 are under src: search_text {"pattern":"foo","path":"src"');
    expect(bodyOf(found.text).length).toBeLessThanOrEqual(100);
    expect(bodyBytes(bodyOf(found.text))).toBeLessThanOrEqual(12_288);
  });

  it("tells nothing found as empty, naming what was searched (ACI-23)", async () => {
    await using actor = await actorOn({ "a.ts": "x\n" });

    const found = await actor.call("search_text", { pattern: "nope", include: "*.ts" });

    expect(found.status).toBe("empty");
    expect(found.text).toBe("empty: no match for `nope` in the whole repository, files `*.ts`");
  });

  it("tells a pattern that doesn't compile as failed, with error, position and an escaped pattern", async () => {
    await using actor = await actorOn({ "a.ts": "f(x)\n" });

    const bad = await actor.call("search_text", { pattern: "f(" });
    const mended = await actor.call("search_text", bad.refusal?.example?.arguments as never);

    expect(bad).toMatchObject({
      status: "failed",
      refusal: { code: "bad_pattern", example: { arguments: { pattern: "f\\(" } } },
    });
    expect(bad.text).toContain("error: unclosed group at position");
    expect(mended.record).toMatchObject({ matching_lines: 1 });
  });

  it("tells a bad include by its own name", async () => {
    await using actor = await actorOn({ "a.ts": "x\n" });

    const bad = await actor.call("search_text", { pattern: "x", include: "{a" });

    expect(bad).toMatchObject({ status: "failed", refusal: { code: "invalid_arguments" } });
    expect(bad.text).toContain("unclosed alternate group");
  });

  it("shows at most 300 characters of a minified line, around the match (ACI-24)", async () => {
    await using actor = await actorOn({ "a.min.js": `${"a".repeat(400_000)}foo${"b".repeat(249_464)}` });

    const found = await actor.call("search_text", { pattern: "foo" });

    const line = bodyOf(found.text)[1] ?? "";
    expect(line).toMatch(/^1:…a+foob+…$/);
    expect(line).toHaveLength("1:……".length + 300);
    expect(found.record).toMatchObject({ clipped_lines: 1, omitted_lines: 0 });
    expect(centredLine(`foo${"b".repeat(400)}`, 0).text).toBe(`foo${"b".repeat(297)}…`);
  });

  it("names a binary file with a match by type and size", async () => {
    const bytes = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]), Buffer.from("foo\n")]);
    await using actor = await actorOn({ "a.png": bytes });

    const found = await actor.call("search_text", { pattern: "foo" });

    expect(bodyOf(found.text)).toEqual(["a.png [binary: image/png, 10 bytes]"]);
  });

  it("applies ignore rules, include or not, and tells what they hide (ACI-25)", async () => {
    const workspace = createFakeWorkspace({ ".gitignore": "# made\nbuild/\n*.log\n", "src/a.ts": "x\n" }, runOnFiles);
    workspace.files.set("build/out.log", Buffer.from("needle\nneedle\n"));
    workspace.files.set("src/top.log", Buffer.from("needle\n"));
    await using actor = await createActor(workspace);

    const empty = await actor.call("search_text", { pattern: "needle" });
    const included = await actor.call("search_text", { pattern: "needle", include: "*.log" });
    const inside = await actor.call("search_text", { pattern: "needle", path: "build" });

    expect(empty).toMatchObject({
      status: "empty",
      record: { ignored_matching_lines: 3, next: { arguments: { path: "build/out.log" } } },
    });
    expect(included).toMatchObject({ status: "empty", record: { ignored_matching_lines: 3 } });
    expect(inside).toMatchObject({ status: "ok", record: { matching_lines: 2, ignored_rule: ".gitignore:2" } });
    expect(inside.text).toContain("ignored by .gitignore:2");
  });

  it("shows ripgrep's own message when something went wrong, and never says empty", async () => {
    const workspace = createFakeWorkspace({ "a.ts": "x\n" }, () =>
      anExecResult("rg: a.ts: Permission denied (os error 13)\n", { exitCode: 2 }),
    );
    await using actor = await createActor(workspace);

    const found = await actor.call("search_text", { pattern: "x" });

    expect(found.status).toBe("failed");
    expect(found.text).toContain("Permission denied (os error 13)");
  });

  it("gives what was found when the time is over, as at least", async () => {
    const found =
      '{"type":"match","data":{"path":{"text":"./a.ts"},"lines":{"text":"foo\\n"},"line_number":1,"submatches":[{"start":0}]}}\n{"type":"mat';
    const timedOut = anExecResult(found, { exitCode: null, timedOut: true });
    await using actor = await createActor(createFakeWorkspace({}, () => timedOut));

    const answer = await actor.call("search_text", { pattern: "foo" });

    expect(answer).toMatchObject({
      status: "failed",
      refusal: { code: "timed_out" },
      record: { exact: false, matching_lines: 1 },
    });
    expect(answer.text).toContain("at least 1 matching lines");
  });

  it("takes patterns and paths that look like options or shell text as what they are", async () => {
    const path = `it's "$(x)"/-e.ts`;
    await using actor = await actorOn({ [path]: "--files\n" });

    const found = await actor.call("search_text", { pattern: "--files", path });

    expect(found).toMatchObject({ status: "ok", record: { matching_lines: 1 } });
  });

  it("searches a kept page apart from the checkout (ACI-11)", async () => {
    await using actor = await actorOn({ "a.ts": "needle\n" });
    const page = await actor.pages.keep(Buffer.from("hay\nneedle here\n"));

    const found = await actor.call("search_text", { pattern: "needle", path: page });

    expect(found.text).toBe(`ok: 1 matching lines (1 matches) in 1 files, 1 shown\n${page}\n2:needle here`);
  });

  it("counts anew where more was found than is kept of any output", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`f${10 + index}.ts`, "foo\n".repeat(40)]),
    );
    const workspace = createFakeWorkspace(files, (request, all) => {
      const result = runOnFiles(request, all);
      const isFirst =
        request.program.kind === "argv" &&
        request.program.argv.includes("--json") &&
        request.program.argv.at(-1) === ".";
      return isFirst
        ? { ...result, output: result.output.subarray(0, 1_000), droppedBytes: 9_000, droppedAt: 500 }
        : result;
    });
    await using actor = await createActor(workspace);

    const found = await actor.call("search_text", { pattern: "foo" });

    expect(found.record).toMatchObject({ matching_lines: 1_200, files_count: 30, shown_lines: 50 });
  });

  it("fails for a path that is not there, and refuses one outside", async () => {
    await using actor = await actorOn({ "src/a.ts": "x\n" });

    const missing = await actor.call("search_text", { pattern: "x", path: "scr" });
    const outside = await actor.call("search_text", { pattern: "x", path: "/etc" });

    expect(missing).toMatchObject({ status: "failed", refusal: { code: "not_found" } });
    expect(outside).toMatchObject({ status: "refused", refusal: { code: "outside_workspace" } });
  });
});

describe("find_files (ACI-26)", () => {
  it("lists matching files in path order, hidden ones too, never git's", async () => {
    await using actor = await actorOn({ "b/x.ts": "", "a.ts": "", ".h/y.ts": "", ".git/z.ts": "", "c.js": "" });

    const found = await actor.call("find_files", { glob: "*.ts" });

    expect(found.text).toBe("ok: 3 files, 3 shown\n.h/y.ts\na.ts\nb/x.ts");
  });

  it("shows 50 of many with the exact total and a narrower call", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 120 }, (_, index) => [`${index % 3 === 0 ? "a" : "b"}/f${index}.ts`, ""]),
    );
    await using actor = await actorOn(files);

    const found = await actor.call("find_files", { glob: "**/*.ts" });

    expect(found.record).toMatchObject({
      files_count: 120,
      shown_lines: 50,
      omitted_lines: 70,
      next: { arguments: { path: "b" } },
    });
    expect(found.text).toContain("80 of 120 are under b");
  });

  it("holds ignore rules against the glob, and tells what they hide", async () => {
    const workspace = createFakeWorkspace({ ".gitignore": "*.log\nbuild/\n" }, runOnFiles);
    workspace.files.set("build/x.log", Buffer.from(""));
    workspace.files.set("src/y.log", Buffer.from(""));
    await using actor = await createActor(workspace);

    const empty = await actor.call("find_files", { glob: "**/*.log" });
    const inside = await actor.call("find_files", { glob: "**/*.log", path: "build" });

    expect(empty).toMatchObject({
      status: "empty",
      record: { ignored_files_count: 2, next: { arguments: { path: "build" } } },
    });
    expect(inside).toMatchObject({ status: "ok", record: { ignored_rule: ".gitignore:2", files_count: 1 } });
  });

  it("tells a bad glob as failed with the error, and an example that compiles", async () => {
    await using actor = await actorOn({ "a.ts": "" });

    const bad = await actor.call("find_files", { glob: "{a" });
    const mended = await actor.call("find_files", bad.refusal?.example?.arguments as never);

    expect(bad).toMatchObject({ status: "failed", refusal: { code: "bad_pattern" } });
    expect(mended.status).toBe("empty");
  });
});
