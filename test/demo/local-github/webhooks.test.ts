import { createHmac } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type HookReceiver, startHookReceiver } from "../../support/hook-receiver.ts";
import { caller, type GithubForTest, jsonWebToken, openGithub, tokenFor } from "../../support/local-github.ts";

/** Real git and real keys take their time on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
let receiver: HookReceiver;
const secret = "a secret of this test";

beforeEach(async ({ signal }) => {
  receiver = await startHookReceiver();
  at = await openGithub(signal, { webhook: { url: receiver.url, secret } });
});
afterEach(async () => {
  await at[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const openIssue = async () => ({
  repository: "ada/sample",
  number: await at.github.openIssue("ada/sample", { title: "Broken", body: "It is.", by: "rita" }),
});
const events = (): readonly string[] =>
  receiver.received.map(({ headers, text }) => `${headers["x-github-event"]}.${JSON.parse(text).action}`);

test("a label sends the signed bytes with GitHub's headers", async () => {
  const place = await openIssue();
  await at.github.label(place, "countersign", "wes");
  await at.github.settled();

  const { headers, text } = receiver.received.at(-1) ?? { headers: {}, text: "" };
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "user-agent": expect.stringMatching(/^GitHub-Hookshot\//),
    "x-github-event": "issues",
    "x-github-delivery": expect.stringMatching(/^[0-9a-f-]{36}$/),
    "x-github-hook-installation-target-type": "integration",
    "x-github-hook-installation-target-id": String(at.github.app.id),
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
    "x-hub-signature": `sha1=${createHmac("sha1", secret).update(text).digest("hex")}`,
  });
  expect(JSON.parse(text)).toMatchObject({
    action: "labeled",
    label: { name: "countersign" },
    issue: { number: place.number, labels: [{ name: "countersign" }], state: "open" },
    sender: { login: "wes", type: "User" },
    installation: { id: at.github.installationId("ada/sample") },
  });
});

test("a label that is on already, and a reaction, send nothing", async () => {
  const place = await openIssue();
  await at.github.label(place, "countersign", "wes");
  await at.github.label(place, "countersign", "ada");
  at.github.react(place, "eyes", "ada");
  await at.github.settled();

  expect(events()).toEqual(["issues.opened", "issues.labeled"]);
});

test("what the App does itself is told too, with the bot as sender", async () => {
  const place = await openIssue();
  const send = caller(at, await tokenFor(at));
  await send("POST", `/repos/ada/sample/issues/${place.number}/comments`, { body: "seen" });
  await at.github.settled();

  expect(JSON.parse(receiver.received.at(-1)?.text ?? "{}")).toMatchObject({
    action: "created",
    sender: { login: at.github.app.bot.login, id: at.github.app.bot.id, type: "Bot" },
    comment: { performed_via_github_app: { id: at.github.app.id } },
  });
});

test("every deed of people that the App must know is told", async () => {
  const place = await openIssue();
  const { github } = at;
  const comment = github.comment(place, "/countersign fix", "wes");
  github.editComment("ada/sample", comment, "/countersign help", "wes");
  github.deleteComment("ada/sample", comment, "wes");
  await github.label(place, "countersign", "wes");
  await github.unlabel(place, "countersign", "wes");
  await github.lock(place, "ada");
  await github.close(place, "ada");
  await github.reopen(place, "ada");
  await github.deleteIssue(place, "ada");
  github.archive("ada/sample");
  github.archive("ada/sample", false);
  github.rename("ada/sample", "renamed");
  github.suspend(github.installationId("ada/sample"));
  await github.settled();

  expect(events().toSorted()).toEqual(
    [
      "issues.opened",
      "issue_comment.created",
      "issue_comment.edited",
      "issue_comment.deleted",
      "issues.labeled",
      "issues.unlabeled",
      "issues.locked",
      "issues.closed",
      "issues.reopened",
      "issues.deleted",
      "repository.archived",
      "repository.unarchived",
      "repository.renamed",
      "installation.suspend",
    ].toSorted(),
  );
});

test("a pull request's life is told: opened, pushed to, reviewed, closed", async () => {
  const { github } = at;
  const change = { branch: "fix", message: "Fix", by: "wes", files: { "docs/a.md": "one\ntwo\n" } };
  await github.push("ada/sample", change);
  const number = await github.openPull("ada/sample", { title: "Fix", head: "fix", base: "main", by: "wes" });
  const place = { repository: "ada/sample", number };
  const head = await github.push("ada/sample", { ...change, files: { "docs/a.md": "one\n" } });
  const comments = [{ path: "docs/a.md", line: 1, body: "why?" }];
  await github.review(place, { by: "ada", state: "CHANGES_REQUESTED", body: "not yet", comments });
  await github.close(place, "wes");
  await github.settled();

  expect(
    events()
      .filter((event) => !event.startsWith("push"))
      .toSorted(),
  ).toEqual([
    "pull_request.closed",
    "pull_request.opened",
    "pull_request.synchronize",
    "pull_request_review.submitted",
    "pull_request_review_comment.created",
  ]);
  expect(await github.read.pull(place)).toMatchObject({ head: { sha: head }, state: "closed", merged: false });
});

test("buttons and re-runs of a check run are told", async () => {
  const send = caller(at, await tokenFor(at));
  const branch = (await send("GET", "/repos/ada/sample/branches/main")).body as { commit: { sha: string } };
  const created = await send("POST", "/repos/ada/sample/check-runs", {
    name: "Countersign",
    head_sha: branch.commit.sha,
    actions: [{ label: "Stop", description: "Stops the run", identifier: "stop" }],
  });
  const { id } = created.body as { id: number };
  at.github.pressButton("ada/sample", id, "stop", "wes");
  at.github.rerunCheck("ada/sample", id, "wes");
  await at.github.rerunAll("ada/sample", branch.commit.sha, "wes");
  await at.github.settled();

  expect(events().toSorted()).toEqual([
    "check_run.created",
    "check_run.requested_action",
    "check_run.rerequested",
    "check_suite.rerequested",
  ]);
  const pressed = receiver.received.find(({ text }) => text.includes('"requested_action":{'));
  expect(JSON.parse(pressed?.text ?? "{}")).toMatchObject({
    requested_action: { identifier: "stop" },
    check_run: { id, app: { id: at.github.app.id } },
  });
});

test("a delivery is not repeated by itself, and is redelivered with the same id and bytes", async () => {
  receiver.status = 500;
  await openIssue();
  await at.github.settled();
  const app = caller(at, jsonWebToken(at));
  const failed = (await app("GET", "/app/hook/deliveries")).body as { id: number; guid: string; status_code: number }[];
  receiver.status = 202;

  await app("POST", `/app/hook/deliveries/${failed[0]?.id}/attempts`);
  await at.github.settled();

  const listed = (await app("GET", "/app/hook/deliveries")).body;
  expect(failed).toMatchObject([{ status_code: 500, redelivery: false }]);
  expect(listed).toMatchObject([
    { guid: failed[0]?.guid, status_code: 202, redelivery: true },
    { guid: failed[0]?.guid, status_code: 500, redelivery: false },
  ]);
  const [first, second] = receiver.received;
  expect(second?.text).toBe(first?.text);
  expect(second?.headers["x-github-delivery"]).toBe(first?.headers["x-github-delivery"]);
});

test("deliveries to a receiver that is down fail, are kept, and come by a cursor", async () => {
  at.github.setReceiverDown(true);
  for (let count = 0; count < 3; count += 1) await openIssue();
  at.github.setReceiverDown(false);
  const app = caller(at, jsonWebToken(at));

  const first = await app("GET", "/app/hook/deliveries?per_page=2");
  const next = /<(?<url>[^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.groups?.["url"] ?? "";
  const second = await app("GET", next);

  expect(receiver.received).toEqual([]);
  expect([first.body, second.body].flat()).toMatchObject(Array.from({ length: 3 }, () => ({ status_code: 0 })));
});
