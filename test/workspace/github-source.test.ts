import { describe, expect, it } from "vitest";
import { Secret } from "../../src/domain/index.ts";
import { readGithubSource } from "../../src/workspace/github-source.ts";

const source = {
  kind: "github",
  url: "https://github.example/acme/hours.git",
  authorization: new Secret("Authorization: basic c2VjcmV0"),
  commitSha: "a".repeat(40),
  repository: { id: "12", name: "acme/hours" },
} as const;

describe("a commit that GitHub's API named", () => {
  it("is fetched with the credential in git's environment alone, for that host and no other", () => {
    const { environment, ...rest } = readGithubSource(source);

    expect(environment).toEqual({
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "http.https://github.example/.extraHeader",
      GIT_CONFIG_VALUE_0: "Authorization: basic c2VjcmV0",
    });
    expect(JSON.stringify(rest)).not.toContain("c2VjcmV0");
    expect(rest).toMatchObject({ address: source.url, protocol: "https", commitSha: source.commitSha });
  });

  it("comes over http from this machine alone", () => {
    const local = { ...source, url: "http://127.0.0.1:8080/acme/hours.git" };

    expect(readGithubSource(local)).toMatchObject({ protocol: "http" });
    expect(() => readGithubSource({ ...source, url: "http://github.example/acme/hours.git" })).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID" }),
    );
  });

  it.each(["file:///etc", "ssh://git@github.example/x.git", "https://user:word@github.example/x.git", "no address"])(
    "is not fetched from `%s`",
    (url) => {
      expect(() => readGithubSource({ ...source, url })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    },
  );

  it("is named by a whole object name, never by a ref", () => {
    expect(() => readGithubSource({ ...source, commitSha: "main" })).toThrow();
  });
});
