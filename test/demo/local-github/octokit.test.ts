import { createAppAuth } from "@octokit/auth-app";
import { Octokit } from "@octokit/core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GithubForTest, openGithub } from "../../support/local-github.ts";

/** Real git and real keys take their time on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;

beforeAll(async () => {
  at = await openGithub(new AbortController().signal);
  at.setTime(Date.now()); // the library has no clock of its own to set
});
afterAll(() => at[Symbol.asyncDispose]());

const octokitFor = (installationId?: number): Octokit =>
  new Octokit({
    baseUrl: at.github.apiUrl,
    authStrategy: createAppAuth,
    auth: {
      appId: at.github.app.id,
      privateKey: at.github.app.privateKey,
      ...(installationId === undefined ? {} : { installationId }),
    },
  });

test("GitHub's own library finds App, installation and repository, by name and by number", async () => {
  const app = await octokitFor().request("GET /app");
  const found = await octokitFor().request("GET /repos/{owner}/{repo}/installation", { owner: "ada", repo: "sample" });
  const octokit = octokitFor(found.data.id);
  const byName = await octokit.request("GET /repos/{owner}/{repo}", { owner: "ada", repo: "sample" });
  const byNumber = await octokit.request("GET /repositories/{id}", { id: byName.data.id });

  expect(app.data).toMatchObject({ id: at.github.app.id, slug: "countersign-local" });
  expect(byNumber.data).toEqual(byName.data);
});

test("GitHub's own library follows a renamed repository", async () => {
  at.github.rename("ada/sample", "elsewhere");
  const octokit = octokitFor(at.github.installationId("ada/elsewhere"));

  const { data } = await octokit.request("GET /repos/{owner}/{repo}", { owner: "ada", repo: "sample" });

  expect(data.full_name).toBe("ada/elsewhere");
});
