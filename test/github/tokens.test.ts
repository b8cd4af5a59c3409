import { describe, expect, it } from "vitest";
import { Secret } from "../../src/domain/index.ts";
import { mockGithub, place } from "../support/github-mock.ts";
import { actionId, repository } from "./samples.ts";

const mock = mockGithub();
const never = new AbortController().signal;
const good = { status: 200, body: repository };
const minutes = (count: number): number => count * 60_000;

describe("a token (SEC-118)", () => {
  it("is used until ten minutes before its end", async () => {
    mock.replyInRepository("GET", "", good, good, good);
    const reader = mock.reader();

    await reader.repository(never);
    mock.pass(minutes(50));
    await reader.repository(never);
    expect(mock.minted).toHaveLength(1);

    mock.pass(1);
    await reader.repository(never);
    expect(mock.minted).toHaveLength(2);
    expect(mock.asked[2]?.authorization).toBe(`token ${["ghs", "planted2"].join("_")}`);
  });

  it("is shared by the readers of a repository, never by another repository or installation", async () => {
    const others = [
      { ...place, repositoryId: 43 },
      { ...place, installationId: 8 },
    ];
    mock.replyInRepository("GET", "", good, good, good);
    mock.reply("GET", "/repositories/43", { status: 200, body: { ...repository, id: 43 } });
    mock.reply("POST", "/app/installations/8/access_tokens", {
      status: 201,
      body: { token: "other", expires_at: "2026-03-01T11:00:00Z" },
    });
    const github = mock.github();

    for (const each of [place, place, ...others]) await github.reader(each).repository(never);

    expect(mock.minted.map(({ body }) => body["repository_ids"])).toEqual([[42], [43]]);
    expect(mock.asked.at(-1)?.authorization).toBe("token other");
  });

  it("is renewed once after a 401", async () => {
    const refused = { status: 401, body: { message: "Bad credentials" } };
    mock.replyInRepository("GET", "", refused, good, refused, refused);
    const reader = mock.reader();

    expect((await reader.repository(never)).id).toBe(42);
    expect(mock.minted).toHaveLength(2);
    await expect(reader.repository(never)).rejects.toMatchObject({ code: "GITHUB_UNAUTHORIZED" });
    expect(mock.minted).toHaveLength(3);
  });

  it("is asked for with the App's signed word, which lasts ten minutes at most", async () => {
    mock.replyInRepository("GET", "", good);

    await mock.reader().repository(never);

    const [, claims = ""] = (mock.minted[0]?.authorization ?? "").replace(/^bearer /, "").split(".");
    const { iss, iat, exp } = JSON.parse(Buffer.from(claims, "base64url").toString("utf8"));
    expect(String(iss)).toBe("99");
    expect(exp - iat).toBeLessThanOrEqual(600);
  });

  it("that the installation may not have is a missing permission, with nothing sent", async () => {
    const elsewhere = { installationId: 9, repositoryId: 42 };
    const message = "The permissions requested are not granted to this installation.";
    mock.reply("POST", "/app/installations/9/access_tokens", { status: 422, body: { message } });

    const outcome = await mock.github().writer(elsewhere).write({ tool: "add_label", issue: 1, label: "x" }, never);

    expect(outcome).toMatchObject({ kind: "not_applied", error: { code: "GITHUB_FORBIDDEN" } });
  });

  it("that can't be minted leaves a write not applied", async () => {
    const failing = { status: 500, body: {} };
    mock.reply("POST", "/app/installations/9/access_tokens", failing, failing, failing);

    const outcome = await mock
      .github()
      .writer({ installationId: 9, repositoryId: 42 })
      .write({ tool: "add_label", issue: 1, label: "x" }, never);

    expect(outcome).toMatchObject({ kind: "not_applied", error: { code: "GITHUB_UNAVAILABLE" } });
  });

  it("can't be asked for with a key that isn't one, and the key is not told", async () => {
    const key = ["-----BEGIN RSA PRIVATE", "KEY-----\nplanted"].join(" ");
    const error = await mock
      .github({ privateKey: new Secret(key) })
      .app(never)
      .then(
        () => null,
        (thrown: Error) => thrown,
      );

    expect(error).toMatchObject({ code: "GITHUB_UNAUTHORIZED" });
    expect(String(error?.stack) + String(error?.cause)).not.toContain("planted");
  });
});

describe("the App", () => {
  const installed = (...installations: readonly object[]): void =>
    mock.reply("GET", "/app/installations?per_page=100", { status: 200, body: installations });

  it("is asked for once, with its bot user", async () => {
    installed({ id: 5, suspended_at: "2026-01-01T00:00:00Z" }, { id: place.installationId, suspended_at: null });
    const github = mock.github();

    const first = await github.app(never);
    const second = await github.app(never);

    expect(first).toEqual({
      id: 99,
      slug: "countersign-test",
      name: "Countersign",
      permissions: { contents: "write" },
      events: ["issues"],
      botUserId: 4099,
      botLogin: "countersign-test[bot]",
    });
    expect(second).toBe(first);
  });

  it("asks for its bot user with a token that opens no repository, never with the App's own word", async () => {
    installed({ id: place.installationId, suspended_at: null });

    await mock.github().app(never);

    expect(mock.minted.map(({ body }) => body)).toEqual([{ permissions: { metadata: "read" } }]);
    expect(mock.askedForBot.map(({ authorization }) => authorization)).toEqual([
      `token ${["ghs", "planted1"].join("_")}`,
    ]);
  });

  it("asks for its bot user as anybody where it is installed nowhere", async () => {
    installed();

    expect((await mock.github().app(never)).botUserId).toBe(4099);
    expect(mock.askedForBot.map(({ authorization }) => authorization)).toEqual([""]);
  });

  it("tells an installation with the permissions that its owner accepted", async () => {
    mock.reply("GET", "/app/installations/7", {
      status: 200,
      body: {
        id: 7,
        account: { login: "octo" },
        suspended_at: "2026-01-01T00:00:00Z",
        permissions: { issues: "read" },
      },
    });

    expect(await mock.github().installation(7, never)).toEqual({
      id: 7,
      account: "octo",
      isSuspended: true,
      permissions: { issues: "read" },
    });
  });
});

describe("the access for git", () => {
  it("is an address without a credential and a header that reads contents alone", async () => {
    const access = await mock.github().gitAccess(place, { owner: "octo", name: "repo.js" }, never);

    expect(access.url).toBe("https://github.example.test/octo/repo.js.git");
    expect(String(access.authorization)).toBe("[redacted]");
    const basic = Buffer.from(`x-access-token:${["ghs", "planted1"].join("_")}`).toString("base64");
    expect(access.authorization.reveal()).toBe(`Authorization: basic ${basic}`);
    expect(mock.minted[0]?.body).toEqual({ repository_ids: [42], permissions: { contents: "read" } });
  });

  it.each([
    ["octo", "../other"],
    ["octo", ".."],
    ["octo@elsewhere", "repo"],
    ["octo", "repo\nx"],
    ["", "repo"],
  ])("is not made for the name %j/%j", async (owner, name) => {
    await expect(mock.github().gitAccess(place, { owner, name }, never)).rejects.toMatchObject({
      code: "GITHUB_INVALID",
    });
  });
});

it("no token or key stands in a request's line", async () => {
  mock.replyInRepository("GET", "", good);

  await mock.reader().repository(never);

  expect(JSON.stringify(mock.lines)).not.toMatch(/planted|bearer|KEY/);
});

describe("the redactor (SEC-100, SEC-103)", () => {
  it("knows a token as soon as it is minted, and goes over every text that is written", async () => {
    const own = mockGithub();
    own.replyInRepository("GET", "", good);
    await own.reader().repository(never);
    const minted = ["ghs", "planted1"].join("_");
    const shaped = ["ghp", "aB3".repeat(12)].join("_");
    const hidden = Buffer.from(minted).toString("hex");
    own.redactor.learn(new Secret("a webhook's secret"));
    own.replyInRepository("POST", "/issues/7/comments", { status: 201, body: {} });

    expect(own.redactor.redactExact(`a ${hidden}`)).toBe("a [redacted]");
    const body = `${minted} ${hidden} ${shaped} a webhook's secret`;
    await own.writer().write({ tool: "create_comment", actionId, issue: 7, body }, never);

    const sent = String(own.asked.at(-1)?.body["body"]);
    expect(sent).toContain("[redacted] [redacted] [redacted] [redacted]");
    for (const secret of [minted, hidden, shaped, "webhook"]) expect(sent).not.toContain(secret);
  });
});
