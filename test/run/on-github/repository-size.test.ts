import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/domain/index.ts";
import type { GithubReader, RepositoryFacts } from "../../../src/github/index.ts";
import { parseOperatorSettings } from "../../../src/policy/index.ts";
import type { PublishingDeps } from "../../../src/run/on-github/github-run-deps.ts";
import { findBase } from "../../../src/run/on-github/prepare-on-github.ts";

const operator = parseOperatorSettings(JSON.stringify({ tree: { total_bytes: 2048 } }), "operator.json");
const place = { installationId: 1, repositoryId: 12 };
const never = new AbortController().signal;

const facts = (sizeKb: number): RepositoryFacts => ({
  ...{ id: 12, owner: "acme", name: "hours", fullName: "acme/hours", defaultBranch: "main" },
  ...{ isArchived: false, isDisabled: false, isFork: false, sizeKb },
});

/** What asks for the repository, and whether anything was asked for that a fetch needs. */
function asked(sizeKb: number) {
  let accesses = 0;
  const gitAccess = (): Promise<object> => {
    accesses++;
    return Promise.resolve({ url: "https://github.example/acme/hours.git", authorization: new Secret("x") });
  };
  const deps = { operator, github: { gitAccess } } as unknown as PublishingDeps;
  const reader = {
    repository: () => Promise.resolve(facts(sizeKb)),
    branch: () => Promise.resolve({ sha: "a".repeat(40) }),
  } as unknown as GithubReader;
  return { found: findBase(deps, { place, reader, known: null }, never), accesses: () => accesses };
}

// SEC-80
describe("the size of a repository as the API tells it", () => {
  it("is refused with its numbers before anything is fetched, where it passes the limit", async () => {
    const { found, accesses } = asked(3);

    await expect(found).rejects.toMatchObject({
      code: "TREE_TOO_LARGE",
      message: "the repository has 3 KiB, at most 2 are taken",
    });
    expect(accesses()).toBe(0);
  });

  it("is no obstacle up to the limit", async () => {
    const { found, accesses } = asked(2);

    expect((await found).base).toEqual({ branch: "main", sha: "a".repeat(40) });
    expect(accesses()).toBe(1);
  });
});
