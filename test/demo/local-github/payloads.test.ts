import examples from "@octokit/webhooks-examples" with { type: "json" };
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller, type GithubForTest, openGithub, tokenFor } from "../../support/local-github.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

type Json = Readonly<Record<string, unknown>>;

/** The package's types describe another form than its data have. */
const published = examples as unknown as readonly { readonly name: string; readonly examples: readonly Json[] }[];
let at: GithubForTest;

/** Everything that people and the App do here, once. */
beforeAll(async () => {
  at = await openGithub(new AbortController().signal);
  const { github } = at;
  const place = {
    repository: "ada/sample",
    number: await github.openIssue("ada/sample", { title: "Broken", body: "It is.", by: "rita" }),
  };
  await github.label(place, "countersign", "wes");
  await github.unlabel(place, "countersign", "wes");
  const comment = github.comment(place, "/countersign fix", "wes");
  github.editComment("ada/sample", comment, "/countersign help", "wes");
  github.deleteComment("ada/sample", comment, "wes");
  await github.edit(place, { title: "Very broken" }, "rita");
  await github.lock(place, "ada");
  await github.unlock(place, "ada");
  await github.close(place, "ada");
  await github.reopen(place, "ada");
  await github.deleteIssue(place, "ada");
  await pullRequest();
  github.archive("ada/sample");
  github.archive("ada/sample", false);
  github.rename("ada/sample", "renamed");
  github.removeFromInstallation("ada/renamed");
  github.addToInstallation("ada/renamed");
  const installation = github.installationId("ada/renamed");
  github.suspend(installation);
  github.unsuspend(installation);
  github.uninstall(installation);
  await github.settled();
});
afterAll(() => at[Symbol.asyncDispose]());

async function pullRequest(): Promise<void> {
  const { github } = at;
  const change = { branch: "fix", message: "Fix", by: "wes", files: { "docs/a.md": "one\ntwo\n" } };
  const first = await github.push("ada/sample", change);
  const send = caller(at, await tokenFor(at));
  const run = { name: "Countersign", head_sha: first, status: "in_progress" };
  const { id } = (await send("POST", "/repos/ada/sample/check-runs", run)).body as { id: number };
  await send("PATCH", `/repos/ada/sample/check-runs/${id}`, { conclusion: "success" });
  github.pressButton("ada/sample", id, "stop", "wes");
  github.rerunCheck("ada/sample", id, "wes");
  await github.rerunAll("ada/sample", first, "wes");
  const number = await github.openPull("ada/sample", { title: "Fix", head: "fix", base: "main", by: "wes" });
  const place = { repository: "ada/sample", number };
  await github.label(place, "seen", "ada");
  await github.push("ada/sample", { ...change, files: { "docs/a.md": "one\n" } });
  const comments = [{ path: "docs/a.md", line: 1, body: "why?" }];
  await github.review(place, { by: "ada", state: "CHANGES_REQUESTED", body: "not yet", comments });
  await github.close(place, "wes");
}

/** Facts that only some accounts, plans or versions of GitHub have, or that hang on what was done. */
const notClaimed = new Set([
  "organization",
  "enterprise",
  "changes",
  "deployment",
  "score",
  "master_branch",
  "permissions",
]);
const claimed = [
  "issues",
  "issue_comment",
  "pull_request",
  "pull_request_review",
  "pull_request_review_comment",
  "check_run",
  "check_suite",
  "installation",
  "installation_repositories",
  "repository",
];

const kindOf = (value: unknown): string => {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
};

/** Keys of the first two levels that each example has, with the types that they have in them. */
function keysOf(
  payloads: readonly Json[],
  isWanted: (key: string) => boolean,
): ReadonlyMap<string, ReadonlySet<string>> {
  const all = payloads.map((payload) => {
    const keys = new Map<string, string>();
    for (const [key, value] of Object.entries(payload).filter(([name]) => isWanted(name))) {
      keys.set(key, kindOf(value));
      if (kindOf(value) !== "object") continue;
      for (const [inner, one] of Object.entries(value as Json).filter(([name]) => isWanted(name)))
        keys.set(`${key}.${inner}`, kindOf(one));
    }
    return keys;
  });
  const common = [...(all[0]?.keys() ?? [])].filter((key) => all.every((keys) => keys.has(key)));
  return new Map(common.map((key) => [key, new Set(all.map((keys) => keys.get(key) ?? ""))]));
}

const sentBy = (event: string): readonly { readonly action: string; readonly payload: Json }[] =>
  at.github.deliveries
    .filter((delivery) => delivery.event === event)
    .map((delivery) => ({ action: delivery.action ?? "", payload: JSON.parse(delivery.request.body) as Json }));

test.each(claimed)("payloads of %s have every key that GitHub's own examples share, with its type", (event) => {
  const known = published.find(({ name }) => name === event)?.examples ?? [];
  const sent = sentBy(event);

  const faults = sent.flatMap(({ action, payload }) => {
    const same = known.filter((example) => example["action"] === action);
    const examplesOfAction = same.length > 0 ? same : known;
    const ours = keysOf([payload], () => true);
    return [...keysOf(examplesOfAction, (key) => !notClaimed.has(key))]
      .filter(([key, types]) => !types.has("null") && !hasType(ours.get(key), types))
      .filter(
        ([key]) => (key !== "installation" && !key.startsWith("installation.")) || event.startsWith("installation"),
      )
      .map(([key, types]) => `${event}.${action}: ${key} is ${[...(ours.get(key) ?? ["missing"])]}, not ${[...types]}`);
  });

  expect(sent.length).toBeGreaterThan(0);
  expect(known.length).toBeGreaterThan(0);
  expect(faults).toEqual([]);
});

/** What may be null in GitHub's description (GH-24) is taken as null. */
const hasType = (ours: ReadonlySet<string> | undefined, types: ReadonlySet<string>): boolean =>
  ours !== undefined && [...ours].every((type) => type === "null" || types.has(type));

test("events that have been sent cover those that start or stop a run", () => {
  const sent = new Set(at.github.deliveries.map(({ event, action }) => `${event}.${action}`));

  for (const wanted of [
    "issues.labeled",
    "issues.unlabeled",
    "issues.closed",
    "issues.deleted",
    "issue_comment.created",
    "pull_request_review.submitted",
    "pull_request_review_comment.created",
    "pull_request.closed",
    "check_run.requested_action",
    "check_run.rerequested",
    "check_suite.rerequested",
    "installation.deleted",
    "installation.suspend",
    "installation_repositories.removed",
    "repository.archived",
  ])
    expect(sent).toContain(wanted);
});
