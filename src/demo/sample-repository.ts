import { cp, readFile } from "node:fs/promises";
import { commitOnce } from "./one-commit.ts";

export type SampleRepository = {
  readonly folder: string;
  readonly commitSha: string;
  /** The issue that the repository's failing test belongs to, as Markdown. */
  readonly issue: string;
};

const files = new URL("./sample/", import.meta.url);
const issueFile = new URL("./sample-issue.md", import.meta.url);

/**
 * Writes a small JavaScript project with one failing test into a folder that doesn't exist yet or is empty, and makes it a
 * git repository with one commit. The same files give the same commit. Throws `GIT_FAILED`.
 */
export async function writeSampleRepository(folder: string, signal: AbortSignal): Promise<SampleRepository> {
  await cp(files, folder, { recursive: true, force: false, errorOnExist: true });
  const commitSha = await commitOnce(folder, "Opening hours and prices of bookings", signal);
  return { folder, commitSha, issue: await readFile(issueFile, "utf8") };
}
