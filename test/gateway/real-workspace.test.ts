import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BaseTree, Workspace } from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, noTools, type TestHome } from "../support/checkout.ts";
import { type Actor, createActor } from "./act.ts";

/** The tools with real files and a real sandbox: what fakes can't show. */
const files = {
  ".gitignore": "build/\n",
  Makefile: "test:\n\t@sh test.sh\n",
  "test.sh": "grep -q fixed src/a.txt && echo 'ok 1 - a' || { echo 'not ok 1 - a'; exit 1; }\n",
  "src/a.txt": "first\r\nbroken\r\nlast",
  "src/inside-link.txt": { link: "a.txt" },
  escape: { link: "/" },
  dangling: { link: "../outside.txt" },
};

const bodyOf = (text: string): readonly string[] => text.split("\n").slice(1);

describe("the tools on a real checkout", () => {
  let home: TestHome;
  let base: BaseTree;
  let toolsFolder: string;
  beforeAll(async () => {
    home = aHome();
    base = await aBase(home, files);
    toolsFolder = noTools(home);
    mkdirSync(join(toolsFolder, "bin"));
    copyFileSync(rgPath, join(toolsFolder, "bin", "rg"));
  });
  afterAll(() => home.dispose());

  /** A checkout of its own for each test. */
  async function onCheckout(work: (actor: Actor, workspace: Workspace) => Promise<void>): Promise<void> {
    await using workspace = await aWorkspace(home, base, { toolsFolder });
    await using actor = await createActor(workspace);
    await work(actor, workspace);
  }

  it("finds, reads, mends and tests, with the change put down to the edit alone", async () => {
    await onCheckout(async (actor, workspace) => {
      const before = await actor.call("run_tests", {});
      const found = await actor.call("search_text", { pattern: "broken" });
      const listed = await actor.call("find_files", { glob: "src/*.txt" });
      await actor.call("read_file", { path: "src/a.txt" });
      const edited = await actor.call("edit_file", {
        path: "src/a.txt",
        edits: [{ anchor: "first\nbroken", replacement: "first\nfixed" }],
      });
      const after = await actor.call("run_tests", {});
      const reading = await workspace.readBack();

      expect(before).toMatchObject({ status: "failed", record: { failed_count: 1, failing: ["a"] } });
      expect(bodyOf(found.text)).toEqual(["src/a.txt", "2:broken"]);
      expect(bodyOf(listed.text)).toContain("src/a.txt");
      expect(edited).toMatchObject({ status: "ok", record: { changed_lines: "2" } });
      expect(after).toMatchObject({ status: "ok", record: { passed_count: 1, failed_count: 0, changed_count: 0 } });
      expect(reading).toMatchObject({ kind: "read", changeSet: { changes: [{ path: "src/a.txt" }] } });
      const content = reading.kind === "read" ? reading.changeSet.changes[0]?.after?.content : null;
      expect(Buffer.from(content ?? "").toString()).toBe("first\r\nfixed\r\nlast");
    });
  });

  it("follows a link that stays inside to its real path, and refuses those that don't", async () => {
    await onCheckout(async (actor) => {
      const inside = await actor.call("read_file", { path: "src/inside-link.txt" });
      const edited = await actor.call("edit_file", {
        path: "src/inside-link.txt",
        edits: [{ anchor: "broken", replacement: "fixed" }],
      });
      const real = await actor.call("read_file", { path: "src/a.txt" });
      const escaped = await actor.call("read_file", { path: "escape/etc/passwd" });
      const through = await actor.call("create_file", { path: "dangling", content: "x" });

      expect(inside.status).toBe("ok");
      expect(edited.status).toBe("ok");
      expect(real.text).toContain("2\tfixed");
      expect(escaped).toMatchObject({ status: "refused", refusal: { code: "outside_workspace" } });
      expect(through).toMatchObject({ status: "refused", refusal: { code: "outside_workspace" } });
    });
  });

  it("puts what a command wrote down to the command, and names the rule of an ignored folder", async () => {
    await onCheckout(async (actor) => {
      const command = `mkdir -p build && echo needle > build/made.txt && echo new > "it's \\"\\$(x)\\".txt"`;
      const made = await actor.call("run_command", { command });
      const odd = await actor.call("read_file", { path: `it's "$(x)".txt` });
      const ignored = await actor.call("search_text", { pattern: "needle", path: "build" });
      const hidden = await actor.call("search_text", { pattern: "needle" });

      expect(made.text).toContain(`A it's "$(x)".txt`);
      expect(odd.status).toBe("ok");
      expect(ignored).toMatchObject({ status: "ok", record: { ignored_rule: ".gitignore:1", matching_lines: 1 } });
      expect(hidden).toMatchObject({ status: "empty", record: { ignored_matching_lines: 1 } });
    });
  });

  it("fails at once where a program would ask: no prompt, no hang", async () => {
    await onCheckout(async (actor) => {
      const git = await actor.call("run_command", { command: "git commit" });
      const sudo = await actor.call("run_command", { command: "sudo -n true; ssh nobody@localhost true" });

      expect(git.status).toBe("failed");
      expect(sudo.status).toBe("failed");
    });
  });

  it("comes back when the shell ends, and names what it left running", async () => {
    await onCheckout(async (actor) => {
      const answer = await actor.call("run_command", { command: "sleep 60 & echo done" });

      expect(answer).toMatchObject({ status: "ok", record: { killed: ["sleep"] } });
      expect(bodyOf(answer.text)).toEqual(["done"]);
    });
  });

  it("stops a command that ignores TERM, with the output so far", async () => {
    await onCheckout(async (actor) => {
      const answer = await actor.call("run_command", { command: "trap '' TERM; echo begun; sleep 99", timeout_s: 1 });

      expect(answer).toMatchObject({ status: "failed", refusal: { code: "timed_out" }, record: { timed_out: true } });
      expect(answer.text).toContain("begun");
    });
  });

  it("runs a command of more than 128 KiB, and searches its kept output apart", async () => {
    await onCheckout(async (actor) => {
      const command = `: ${"x".repeat(140_000)}\nseq 1 5000; echo needle in the stack`;
      const answer = await actor.call("run_command", { command });
      const found = await actor.call("search_text", { pattern: "^needle", path: "out:1" });

      expect(answer.record).toMatchObject({ total_lines: 5_001, page: "out:1" });
      expect(bodyOf(found.text)).toEqual(["out:1", "5001:needle in the stack"]);
    });
  });
});
