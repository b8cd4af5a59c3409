import { describe, expect, it } from "vitest";
import { readRepositoryAddress } from "../../src/github/index.ts";
import { mockGithub, place } from "../support/github-mock.ts";

const mock = mockGithub();
const never = new AbortController().signal;
const gitUrl = "https://github.example.test";

describe("the address of a repository", () => {
  it.each(["/octo/tools", "/octo/tools/", "/octo/tools.git", "/octo/tools.git/"])("may end as in %s", (path) => {
    expect(readRepositoryAddress(`${gitUrl}${path}`, gitUrl)).toEqual({ owner: "octo", name: "tools" });
  });

  it("has a port where GitHub has one, and none where it is the scheme's own", () => {
    expect(readRepositoryAddress("https://GitHub.example.test:443/octo/a.b", gitUrl)).toEqual({
      owner: "octo",
      name: "a.b",
    });
    expect(() => readRepositoryAddress(`${gitUrl}:8443/octo/tools`, gitUrl)).toThrow(/is not the GitHub/);
  });

  it.each([
    ["/srv/tools", /needs the repository's address/],
    ["octo/tools", /needs the repository's address/],
    ["git@github.example.test:octo/tools.git", /needs the repository's address/],
    ["ssh://git@github.example.test/octo/tools", /password/],
    ["http://github.example.test/octo/tools", /is not the GitHub/],
    ["https://github.example.test.evil.example/octo/tools", /is not the GitHub/],
    ["https://octo:hunter2@github.example.test/octo/tools", /password/],
    [`${gitUrl}/octo`, /no address of a repository/],
    [`${gitUrl}/octo/tools/pulls`, /no address of a repository/],
    [`${gitUrl}/octo/..%2ftools`, /no address of a repository/],
    [`${gitUrl}/octo/tools?ref=main`, /no address of a repository/],
  ])("is refused, without its password, where it is %s", (typed, cause) => {
    const read = (): unknown => readRepositoryAddress(typed, gitUrl);

    expect(read).toThrow(cause);
    expect(read).not.toThrow(/hunter2/);
  });
});

describe("a repository that is looked for by its name", () => {
  const permissions = { contents: "write", metadata: "read" };
  const found = { id: 42, name: "tools", full_name: "octo/tools", owner: { login: "octo" }, default_branch: "main" };

  it("is found by a token that opens no repository", async () => {
    mock.reply("GET", "/repos/octo/tools/installation", { status: 200, body: { id: 7, account: null, permissions } });
    mock.reply("GET", "/repos/octo/tools", { status: 200, body: { ...found, archived: false, fork: false, size: 1 } });

    const { place: at, installation } = await mock.github().locate({ owner: "octo", name: "tools" }, never);

    expect(at).toEqual(place);
    expect(installation).toMatchObject({ id: 7, isSuspended: false, permissions });
    expect(mock.minted.map(({ body }) => body)).toEqual([{ permissions: { metadata: "read" } }]);
    expect(mock.asked.map(({ authorization }) => authorization.split(" ")[0])).toEqual(["bearer", "token"]);
  });

  it("is GITHUB_NOT_FOUND where the App is not installed, and nothing more is asked", async () => {
    mock.reply("GET", "/repos/octo/tools/installation", { status: 404, body: { message: "Not Found" } });

    const located = mock.github().locate({ owner: "octo", name: "tools" }, never);

    await expect(located).rejects.toMatchObject({ code: "GITHUB_NOT_FOUND" });
    expect(mock.minted).toEqual([]);
  });
});
