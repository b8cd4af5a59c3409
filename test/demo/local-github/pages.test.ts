import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller, type GithubForTest, openGithub, type Send, tokenFor } from "../../support/local-github.ts";

/** Real git and real keys take their time on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
let send: Send;
let number: number;

beforeAll(async () => {
  at = await openGithub(new AbortController().signal);
  send = caller(at, await tokenFor(at));
  const body = '<script>alert(1)</script> & "quotes"';
  number = await at.github.openIssue("ada/sample", { title: "<b>Broken</b>", body, by: "rita" });
});
afterAll(() => at[Symbol.asyncDispose]());

const links = (header: string | null): Readonly<Record<string, string>> =>
  Object.fromEntries([...(header ?? "").matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, url, name]) => [name, url]));

test("a list is paged to its end by Link, oldest comment first", async () => {
  const place = { repository: "ada/sample", number };
  for (let count = 1; count <= 7; count += 1) at.github.comment(place, `comment ${count}`, "wes");
  const bodies: string[] = [];
  let url: string | undefined = `/repos/ada/sample/issues/${number}/comments?per_page=3`;

  while (url !== undefined) {
    const reply = await send("GET", url);
    bodies.push(...(reply.body as { body: string }[]).map(({ body }) => body));
    url = links(reply.headers.get("link"))["next"];
  }

  expect(bodies).toEqual(Array.from({ length: 7 }, (_, index) => `comment ${index + 1}`));
});

test("a middle page links to all four, the only page to none", async () => {
  const middle = await send("GET", `/repos/ada/sample/issues/${number}/comments?per_page=3&page=2`);
  const only = await send("GET", `/repos/ada/sample/issues/${number}/comments`);

  expect(Object.keys(links(middle.headers.get("link"))).toSorted()).toEqual(["first", "last", "next", "prev"]);
  expect(only.headers.get("link")).toBe(null);
});

test("comments since a time leave out the earlier ones", async () => {
  const start = at.nowMs();
  at.setTime(start + 60_000);
  at.github.comment({ repository: "ada/sample", number }, "late", "wes");
  at.setTime(start);

  const since = new Date(start + 30_000).toISOString();
  const reply = await send("GET", `/repos/ada/sample/issues/${number}/comments?since=${since}`);

  expect((reply.body as { body: string }[]).map(({ body }) => body)).toEqual(["late"]);
});

test("what hasn't changed is answered 304 to its tag", async () => {
  const first = await send("GET", "/repos/ada/sample");
  const again = await fetch(`${at.github.apiUrl}/repos/ada/sample`, {
    headers: {
      "user-agent": "test",
      authorization: `Bearer ${await tokenFor(at)}`,
      "if-none-match": first.headers.get("etag") ?? "",
    },
  });

  expect(again.status).toBe(304);
  expect(await again.text()).toBe("");
});

test("every answer has a request id and the rate limit", async () => {
  const { headers } = await send("GET", "/repos/ada/none");

  expect(headers.get("x-github-request-id")).toMatch(/^[0-9A-F]{4}:[0-9A-F]{6}:[0-9A-F]{6}:[0-9A-F]{8}$/);
  expect(headers.get("x-ratelimit-limit")).toBe("5000");
});

test("a page shows all texts as text", async () => {
  const reply = await fetch(`${at.github.origin}/ada/sample/issues/${number}`);
  const html = await reply.text();

  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;");
  expect(html).not.toContain("<script>");
  expect(html).toContain("comment 7");
});

test("a pull request's page shows its files and checks, the repository's page its items", async () => {
  const files = { "docs/a.md": "one <line>\n" };
  const head = await at.github.push("ada/sample", { branch: "page", message: "Page", by: "wes", files });
  const pull = await at.github.openPull("ada/sample", { title: "Page", head: "page", base: "main", by: "wes" });
  const output = { title: "Verified", summary: "all tests pass" };
  await send("POST", "/repos/ada/sample/check-runs", {
    name: "Countersign",
    head_sha: head,
    conclusion: "success",
    output,
  });

  const html = await (await fetch(`${at.github.origin}/ada/sample/pull/${pull}`)).text();
  const list = await (await fetch(`${at.github.origin}/ada/sample`)).text();

  expect(html).toContain("+one &lt;line&gt;");
  expect(html).toContain("Check Countersign: success");
  expect(list).toContain(`/ada/sample/pull/${pull}`);
  expect((await fetch(`${at.github.origin}/ada/sample/pull/999`)).status).toBe(404);
});

test("GraphQL makes a draft ready, which REST can't", async () => {
  const files = { "docs/b.md": "two\n" };
  await at.github.push("ada/sample", { branch: "draft", message: "Draft", by: "wes", files });
  const pull = { title: "Draft", head: "draft", base: "main", draft: true };
  const opened = (await send("POST", "/repos/ada/sample/pulls", pull)).body as { number: number; node_id: string };

  await send("PATCH", `/repos/ada/sample/pulls/${opened.number}`, { draft: false });
  const between = await send("GET", `/repos/ada/sample/pulls/${opened.number}`);
  const query =
    "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
  const reply = await send("POST", `${at.github.origin}/api/graphql`, { query, variables: { id: opened.node_id } });
  const after = await send("GET", `/repos/ada/sample/pulls/${opened.number}`);

  expect(between.body).toMatchObject({ draft: true });
  expect(reply.body).toMatchObject({ data: { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } } });
  expect(after.body).toMatchObject({ draft: false });
});
