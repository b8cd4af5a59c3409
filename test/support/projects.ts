import { cp, readFile } from "node:fs/promises";
import { commitOnce } from "../../src/demo/index.ts";

/** A small project as a git repository with one commit, its failing test, and the issue that belongs to it. */
export type Project = {
  readonly folder: string;
  readonly issue: string;
  /** The same command as its settings name, as arguments. */
  readonly testCommand: readonly string[];
  /** The one file that has to change. */
  readonly brokenFile: string;
};

const fixtures = new URL("../fixtures/", import.meta.url);

/** Shell functions, tested by a `make` target. The issue names no function. */
export function writeMakeProject(folder: string, signal: AbortSignal): Promise<Project> {
  return write("make-project", { folder, testCommand: ["make", "test"], brokenFile: "lib/quota.sh" }, signal);
}

/** A Python package, tested by `unittest`. The issue names no function. */
export function writeUnittestProject(folder: string, signal: AbortSignal): Promise<Project> {
  const testCommand = ["python3", "-B", "-m", "unittest"];
  return write("unittest-project", { folder, testCommand, brokenFile: "stock/reorder.py" }, signal);
}

async function write(name: string, project: Omit<Project, "issue">, signal: AbortSignal): Promise<Project> {
  await cp(new URL(`${name}/`, fixtures), project.folder, {
    recursive: true,
    filter: (source) => !source.includes("__pycache__"),
  });
  await commitOnce(project.folder, `The ${name}`, signal);
  return { ...project, issue: await readFile(new URL(`${name}-issue.md`, fixtures), "utf8") };
}
