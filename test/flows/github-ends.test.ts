import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type GithubPlace, openGithubPlace, type RunningService } from "../support/github-service.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

let place: GithubPlace;
let service: RunningService;
let closeModel: () => Promise<void>;
/** What a test does while the model is asked for the second time, by the title of the issue. */
const meanwhile = new Map<string, () => void | Promise<void>>();

beforeAll(async () => {
  const moves = [call("create_file", { path: "note.txt", content: "hello\n" }), finish];
  const model = await startPlannedModel(moves, async (number, said) => {
    if (number !== 1) return;
    for (const [title, act] of meanwhile) if (said.includes(title)) await act();
  });
  closeModel = async () => await model[Symbol.asyncDispose]();
  place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  service = await place.serve({ policiesFolder: place.policiesFor(4) });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await closeModel();
});

const unverified = { ".github/countersign.yml": "version: 1\nverify: none\n" };
const titleOf = (name: string): string => `A note in ${name}`;

async function addTiny(name: string, files: Readonly<Record<string, string>> = unverified): Promise<void> {
  await place.addRepository(name, await writeTinyRepository(join(place.countersign.folder, `files-${name}`), files));
}

/** Asks for a run in a repository and waits for its end; answers with what the people of the repository then see. */
async function askIn(name: string, by = "alice") {
  const repository = `acme/${name}`;
  const before = service.events.filter(({ kind }) => kind === "ended").length;
  const number = await place.github.openIssue(repository, { title: titleOf(name), body: "Write a note", by });
  await place.github.label({ repository, number }, "countersign", by);
  await service.ended(before + 1);
  return seenIn(name, number);
}

async function seenIn(name: string, number: number) {
  const repository = `acme/${name}`;
  const ended = service.events.findLast(({ kind }) => kind === "ended");
  return {
    comments: place.github.read.comments({ repository, number }).map(({ body }) => String(body)),
    pulls: await place.github.read.pulls(repository),
    branches: await place.github.read.refs(repository, "refs/heads/countersign/"),
    conclusion: ended?.kind === "ended" ? ended.conclusion : null,
  };
}

it("stops a run whose label is removed meanwhile, says who did it, and keeps the patch (AT-11)", async () => {
  await addTiny("unlabelled");
  meanwhile.set(titleOf("unlabelled"), async () => {
    await place.github.unlabel({ repository: "acme/unlabelled", number: 1 }, "countersign", "alice");
    await place.github.settled();
  });

  const seen = await askIn("unlabelled");

  expect(seen).toMatchObject({ conclusion: "cancelled", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("cancelled by alice through the removed label")]);
  expect(seen.comments[0]).toContain("countersign runs patch ");
});

it("publishes nothing where the issue was closed without us hearing of it (AT-11, GH-51)", async () => {
  await addTiny("closed");
  meanwhile.set(titleOf("closed"), async () => {
    place.github.setReceiverDown(true);
    await place.github.close({ repository: "acme/closed", number: 1 }, "alice");
    place.github.setReceiverDown(false);
  });

  const seen = await askIn("closed");

  expect(seen).toMatchObject({ conclusion: "cancelled", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("the issue was closed meanwhile")]);
});

it("publishes nothing for a requester who may no longer write (GH-51, SEC-32)", async () => {
  await addTiny("demoted");
  meanwhile.set(titleOf("demoted"), () => place.github.addCollaborator("acme/demoted", "alice", "read"));

  const seen = await askIn("demoted");

  expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("may no longer write")]);
});

it("publishes on a base that has gone on, and says by how much", async () => {
  await addTiny("moved");
  meanwhile.set(titleOf("moved"), async () => {
    const commit = { branch: "main", message: "On and on", by: "alice", files: { "other.txt": "x\n" } };
    await place.github.push("acme/moved", commit);
  });

  const seen = await askIn("moved");

  expect(seen).toMatchObject({ conclusion: "neutral", pulls: [{ draft: true }] });
  expect(seen.pulls[0]?.["body"]).toContain("the branch has gone on by 1 commit since");
});

it("follows a repository that is renamed meanwhile", async () => {
  await addTiny("old-name");
  meanwhile.set(titleOf("old-name"), () => place.github.rename("acme/old-name", "new-name"));

  const seen = await askIn("old-name");

  expect(seen).toMatchObject({ conclusion: "neutral", pulls: [{ draft: true }], branches: [{}] });
});

it("publishes nothing into a repository that is archived meanwhile", async () => {
  await addTiny("archived");
  meanwhile.set(titleOf("archived"), () => {
    place.github.setReceiverDown(true);
    place.github.archive("acme/archived");
    place.github.setReceiverDown(false);
  });

  const seen = await askIn("archived");

  expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
});

it("publishes nothing on a base that was rewritten meanwhile, and writes over nothing (AT-32)", async () => {
  await addTiny("rewritten");
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-C", place.gitFolder("acme/rewritten"), ...args], { encoding: "utf8" }).trim();
  let rewritten = "";
  meanwhile.set(titleOf("rewritten"), () => {
    const who = ["-c", "user.name=alice", "-c", "user.email=alice@example.invalid"];
    rewritten = git(...who, "commit-tree", "-m", "Anew", "main^{tree}");
    git("update-ref", "refs/heads/main", rewritten);
  });

  const seen = await askIn("rewritten");

  expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("was rewritten while the run worked on it")]);
  expect(git("rev-parse", "main")).toBe(rewritten);
});

it("opens nothing where nothing is to change, and says so", async () => {
  await addTiny("same", { ...unverified, "note.txt": "hello\n" });

  const seen = await askIn("same");

  expect(seen).toMatchObject({ conclusion: "neutral", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("nothing to change")]);
});

it.each([
  ["a branch of the run's own name stands at", (runId: string) => `countersign/issue-1-${runId.slice(-8)}`],
  ["a branch named `countersign` is in the way of", () => "countersign"],
])("leaves %s as it is, publishes nothing, and keeps the patch (AT-32)", async (_case, nameOf) => {
  const name = `taken-${nameOf("").length}`;
  await addTiny(name);
  let taken = "";
  meanwhile.set(titleOf(name), async () => {
    const runs = await place.countersign.store?.sql<{ run_id: string }>(
      "select run_id from runs where repository_name = $1",
      [`acme/${name}`],
    );
    taken = nameOf(runs?.[0]?.run_id ?? "");
    const files = { "other.txt": "x\n" };
    await place.github.push(`acme/${name}`, { branch: taken, message: "Mine", by: "alice", files });
  });

  const seen = await askIn(name);

  expect(seen).toMatchObject({ pulls: [] });
  expect(seen.conclusion).toMatch(/^(failure|action_required)$/);
  expect(seen.comments).toEqual([expect.stringContaining("countersign runs patch ")]);
  const standing = await place.github.read.refs(`acme/${name}`, "refs/heads/countersign");
  expect(standing).toHaveLength(1);
  expect(JSON.stringify(standing)).toContain(`refs/heads/${taken}`);
});

it("opens a draft where the tests fail on the change, and says so first (AT-36)", async () => {
  await addTiny("failing", { ".github/countersign.yml": "version: 1\nverify: { run: test ! -f note.txt }\n" });

  const seen = await askIn("failing");

  expect(seen).toMatchObject({ conclusion: "failure", pulls: [{ draft: true }] });
  expect(seen.pulls[0]?.["body"]).toMatch(/^\*\*Not verified\*\*: `the tests fail on the change \(exit code 1\)`/);
  expect(place.github.read.checkRuns("acme/failing")).toMatchObject([{ conclusion: "failure" }]);
});

it("refuses settings that can't be read before any work, with place and reason", async () => {
  await addTiny("unset", { ".github/countersign.yml": "version: 1\nverfy: none\n" });

  const seen = await askIn("unset");

  expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringMatching(/`\.github\/countersign\.yml`, line \d+: .*verfy/)]);
});

it.each([
  ["a permit", '@id("open") permit (principal, action, resource);', "1:1 of its text: a repository may only forbid"],
  ["a policy that does not parse", '@id("x") forbid (principal, action, resource', "of its text: unexpected end"],
  ["a policy that does not fit", '@id("x") forbid (principal, action, resource) when { context.rsk == 1 };', "rsk"],
])(
  "refuses %s in a repository's `forbid`, and the status comment quotes the place (AUD-24)",
  async (what, policy, says) => {
    const name = `forbid-${what.length}`;
    await addTiny(name, { ".github/countersign.yml": `version: 1\nverify: none\nforbid:\n  - '${policy}'\n` });

    const seen = await askIn(name);

    expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
    expect(seen.comments).toEqual([expect.stringMatching(/`\.github\/countersign\.yml`, line 4, `forbid` 1, at 1:/)]);
    expect(seen.comments[0]).toContain(says);
  },
);

it("refuses an empty repository politely", async () => {
  const signal = new AbortController().signal;
  await place.github.createRepository({ owner: "acme", name: "empty", source: { kind: "empty" } }, signal);
  place.github.addCollaborator("acme/empty", "alice", "write");

  const seen = await askIn("empty");

  expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("has no commit yet")]);
});

it("keeps the patch where the installation lacks a permission, and says so", async () => {
  await addTiny("lacking");
  const installation = place.github.installationId("acme/lacking");
  place.github.setPermissions(installation, {
    metadata: "read",
    issues: "write",
    contents: "read",
    pull_requests: "write",
    checks: "write",
  });

  const seen = await askIn("lacking");
  place.github.setPermissions(installation, {
    metadata: "read",
    issues: "write",
    contents: "write",
    pull_requests: "write",
    checks: "write",
  });

  expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
  expect(seen.comments).toEqual([expect.stringContaining("the change could not be published")]);
  expect(seen.comments[0]).toContain("countersign runs patch ");
});

it("answers a label by somebody who only reads with a reaction and no word", async () => {
  await addTiny("readers");
  place.github.createAccount("rita");
  place.github.addCollaborator("acme/readers", "rita", "read");
  const answered = nextAction("add_reaction");
  const number = await place.github.openIssue("acme/readers", { title: "A wish", body: "Please", by: "rita" });
  await place.github.label({ repository: "acme/readers", number }, "countersign", "rita");
  await answered;

  const seen = await seenIn("readers", number);

  expect(seen).toMatchObject({ comments: [], pulls: [] });
  expect(place.github.read.reactions("acme/readers")).toMatchObject([{ content: "confused" }]);
});

it("asks three times in all who put the label on, and refuses where GitHub can't tell", async () => {
  await addTiny("untold");
  const route = "GET /repos/{owner}/{repo}/collaborators/{username}/permission";
  const fault = { kind: "answer", when: "before", status: 502 } as const;
  const failing = place.github.fault({ route, times: 1_000, fault });
  const answered = nextAction("add_reaction");
  const number = await place.github.openIssue("acme/untold", { title: "A wish", body: "Please", by: "alice" });
  await place.github.label({ repository: "acme/untold", number }, "countersign", "alice");
  await answered;
  failing.cancel();

  expect(await seenIn("untold", number)).toMatchObject({ comments: [], pulls: [] });
  expect(failing.count()).toBe(3);
});

it("answers a writer's command that starts nothing with the cause and the remedy", async () => {
  await addTiny("helped");
  const answered = nextAction("create_comment");
  const number = await place.github.openIssue("acme/helped", { title: "A question", body: "How?", by: "alice" });
  place.github.comment({ repository: "acme/helped", number }, "/countersign help", "alice");
  await answered;

  const { comments } = await seenIn("helped", number);

  expect(comments).toEqual([
    "/countersign help",
    expect.stringContaining("`/countersign fix` on an issue starts a run"),
  ]);
});

/** Resolves once the next action of this name is through. */
function nextAction(tool: string): Promise<void> {
  const count = (): number =>
    service.events.filter((event) => event.kind === "action" && event.outcome.tool === tool).length;
  const before = count();
  return service.heard(() => count() > before);
}

it("makes one run of a delivery that comes twice", async () => {
  await addTiny("twice");
  const seen = await askIn("twice");
  const delivery = place.github.deliveries.findLast(({ event, action }) => event === "issues" && action === "labeled");
  place.github.redeliver(delivery?.id ?? 0);
  await place.github.settled();

  const again = place.github.deliveries.findLast(({ isRedelivery }) => isRedelivery);
  const runs = await place.countersign.store?.sql("select run_id from runs where repository_name like '%twice'");

  expect(seen.pulls).toHaveLength(1);
  expect(again).toMatchObject({ statusCode: 202, responseBody: expect.stringContaining("duplicate") });
  expect(runs).toHaveLength(1);
});

it("works on two issues of two repositories at once", async () => {
  await addTiny("left");
  await addTiny("right");
  const met = Promise.withResolvers<void>();
  let waiting = 0;
  const meet = async (): Promise<void> => {
    waiting += 1;
    if (waiting === 2) met.resolve();
    await met.promise;
  };
  meanwhile.set(titleOf("left"), meet);
  meanwhile.set(titleOf("right"), meet);

  const before = service.events.filter(({ kind }) => kind === "ended").length;
  await Promise.all([askIn("left"), askIn("right")]);
  await service.ended(before + 2);
  const left = await seenIn("left", 1);
  const right = await seenIn("right", 1);

  expect(waiting).toBe(2);
  expect([...left.pulls, ...right.pulls]).toMatchObject([{ draft: true }, { draft: true }]);
});

it("takes a repository of a thousand files through the whole flow", async () => {
  const files: Record<string, string> = { ...unverified };
  for (let index = 0; index < 1_000; index += 1) files[`src/part-${index % 40}/file-${index}.txt`] = `line ${index}\n`;
  await addTiny("thousand", files);

  const seen = await askIn("thousand");

  expect(seen).toMatchObject({ conclusion: "neutral", pulls: [{ draft: true, changed_files: 1 }] });
});

it("has had no trouble beside", () => {
  expect(service.troubles).toEqual([]);
});
