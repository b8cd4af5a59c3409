import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const root = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const workflows = readdirSync(join(root, ".github/workflows")).map((name) => `.github/workflows/${name}`);

type Step = { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, unknown>> };
type Workflow = {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[]; readonly permissions?: unknown }>>;
};
const parsed = (path: string): Workflow => parse(read(path)) as Workflow;
const stepsOf = (path: string): readonly Step[] => Object.values(parsed(path).jobs).flatMap(({ steps }) => steps);

describe.each(workflows)("the workflow %s (SEC-126)", (path) => {
  it("has no permission but what a job names, and writes nothing but findings", () => {
    const { permissions, jobs } = parsed(path);

    expect(permissions).toEqual({});
    for (const job of Object.values(jobs)) {
      const granted = Object.entries(job.permissions ?? {});
      expect(granted.filter(([name, level]) => level !== "read" && name !== "security-events")).toEqual([]);
    }
  });

  it("takes actions by commit alone, with the version said beside it", () => {
    for (const line of read(path).matchAll(/uses:.*/g)) expect(line[0]).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    expect(stepsOf(path).filter(({ uses }) => uses !== undefined).length).toBeGreaterThan(0);
  });

  it("never runs a stranger's code with our rights, and puts no expression into a shell", () => {
    expect(Object.keys(parsed(path).on)).not.toContain("pull_request_target");
    expect(Object.keys(parsed(path).on)).not.toContain("workflow_run");
    for (const { run = "" } of stepsOf(path)) expect(run).not.toContain("${{");
  });

  it("leaves no credential in the checkout", () => {
    const checkouts = stepsOf(path).filter(({ uses }) => uses?.startsWith("actions/checkout@"));

    for (const step of checkouts) expect(step.with).toMatchObject({ "persist-credentials": false });
    expect(checkouts.length).toBeGreaterThan(0);
  });
});

describe("the repository", () => {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);

  it("holds no binary: what is compiled is kept as text (SEC-126)", () => {
    expect(files.length).toBeGreaterThan(500);
    expect(files.filter((path) => readFileSync(join(root, path)).includes(0))).toEqual([]);
  });

  it("names a private way to report a weakness, a licence and updates (SEC-125)", () => {
    expect(read("SECURITY.md")).toMatch(/Report a vulnerability/);
    expect(read("LICENSE")).toContain("Apache License");
    expect(read(".github/dependabot.yml")).toMatch(/npm[\s\S]*github-actions[\s\S]*docker/);
  });

  it("has owners for policies, prompts, filter and workflows, each of which is there (SEC-125)", () => {
    const owned = read(".github/CODEOWNERS")
      .split("\n")
      .flatMap((line) => /^\/(\S+)\s+@\S+$/.exec(line)?.[1] ?? []);

    for (const needed of ["policies/", "src/agent/prompt.ts", "src/workspace/seccomp*", ".github/"]) {
      expect(owned).toContain(needed);
    }
    for (const path of owned) {
      const start = path.replace(/\*$/, "");
      expect(
        files.some((file) => file.startsWith(start)),
        path,
      ).toBe(true);
    }
  });
});
