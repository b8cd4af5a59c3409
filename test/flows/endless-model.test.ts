import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openGithubPlace } from "../support/github-service.ts";
import { call, startPlannedModel } from "../support/planned-model.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const settings = { ".github/countersign.yml": "version: 1\nverify: none\nlimits: { turns: 3 }\n" };

/** A thousand calls in one answer, none of them as in the one before. */
const manyCalls = (turn: number) => ({
  kind: "calls" as const,
  calls: Array.from({ length: 1_000 }, (_none, at) =>
    call("create_file", { path: `made/${turn}-${at}.txt`, content: `${turn} ${at}\n` }),
  ),
});

it("ends a model without end by its budget: few of its calls run, all is on record, nothing is published (AT-21)", async () => {
  await using model = await startPlannedModel([0, 1, 2, 3, 4, 5].map(manyCalls));
  await using place = await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" });
  const service = await place.serve({ policiesFolder: place.policiesFor(1) });
  await place.addRepository("endless", await writeTinyRepository(join(place.countersign.folder, "endless"), settings));
  const target = { repository: "acme/endless", number: 0 };
  target.number = await place.github.openIssue(target.repository, { title: "A note", body: "Write it", by: "alice" });

  await place.github.label(target, "countersign", "alice");
  await service.ended(1);

  const [run] =
    (await place.countersign.store?.sql<{ run_id: string; stop_reason: string }>("select * from runs")) ?? [];
  const made = await place.countersign.store?.sql("select 1 from actions where tool = 'create_file'");
  expect(run?.stop_reason).toBe("limit_turns");
  expect(made).toHaveLength(3 * 16);
  expect(await place.github.read.pulls(target.repository)).toEqual([]);
  expect(await place.github.read.refs(target.repository, "refs/heads/countersign/")).toEqual([]);
  const [comment] = place.github.read.comments(target);
  expect(String(comment?.["body"])).toContain("the limit of turns was reached");
  const patch = await place.countersign.inProcess(["runs", "patch", run?.run_id ?? ""]);
  expect(patch.stdout).toContain("+0 0");
  const verified = await place.countersign.inProcess(["audit", "verify"]);
  expect(verified.exitCode).toBe(0);
});
