import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answeredCodes, type DeliveryId, ignoredCodes, refusedCodes } from "../../src/domain/index.ts";
import { handledEvents, readEvent } from "../../src/intake/read-event.ts";
import type { SignedDelivery } from "../../src/intake/reading.ts";
import { verifyStored } from "../../src/ledger/index.ts";
import { openTestLedger, type TestLedger } from "../support/test-ledger.ts";
import { openTestStore, type TestStore } from "../support/test-store.ts";
import { intakeDeps, operatorWith, ownApp, startIntake, type TestIntake } from "../support/webhooks.ts";

type Example = { readonly [key: string]: unknown };
type Definition = { readonly name: string; readonly examples: readonly Example[] };

/** GitHub's published examples, of github.com and of each Enterprise Server that has its own. */
const require = createRequire(import.meta.url);
const folder = dirname(require.resolve("@octokit/webhooks-examples/package.json"));
const read = (source: string) =>
  JSON.parse(readFileSync(join(folder, source, "index.json"), "utf8")) as readonly Definition[];
const sources = ["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"] as const;
const published = sources.flatMap((source) =>
  read(source).flatMap(({ name, examples: all }) =>
    all.map((payload, at) => ({ title: `${source} ${name} ${at}`, name, payload })),
  ),
);
/** The servers share many of them. */
const examples = [
  ...new Map(published.map((example) => [`${example.name} ${JSON.stringify(example.payload)}`, example])).values(),
];
const reasons = new Set<string>([...ignoredCodes, ...refusedCodes, ...answeredCodes, "done"]);

let store: TestStore;
let held: TestLedger;
let intake: TestIntake;

beforeAll(async () => {
  store = await openTestStore();
  held = await openTestLedger(store);
  const permission = async () => ({ permission: "write", userId: 21_031_067, requestId: null }) as const;
  const deps = intakeDeps(store, held);
  intake = await startIntake({ ...deps, github: { ...deps.github, permission }, operator: operatorWith({}) });
});
afterAll(async () => {
  await intake[Symbol.asyncDispose]();
  await held[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const send = (name: string, payload: object) => intake.send(name, payload);

describe("GitHub's own examples through the real endpoint (SEC-113)", () => {
  it("are each handled, or ignored for a stated reason, and the ledger verifies", async () => {
    expect(examples.length).toBeGreaterThan(400);
    const failed: string[] = [];
    for (const { title, name, payload } of examples) {
      const { status, body } = await send(name, payload);
      if (status !== 202 || !reasons.has(String(body["code"])))
        failed.push(`${title}: ${status} ${JSON.stringify(body)}`);
      if (body["code"] === "shape_unknown") failed.push(`${title}: its shape is not known`);
    }

    expect(failed).toEqual([]);
    expect(await verifyStored({ store, keys: held.keys })).toMatchObject({ findings: [] });
  }, 300_000);

  it("start a run with our label, and with our command, whichever example it is", async () => {
    const ours = examples.filter(({ name, payload }) => name === "issues" && payload["action"] === "labeled");
    const comments = examples.filter(
      ({ name, payload }) => name === "issue_comment" && payload["action"] === "created",
    );
    let id = 1_000_000;
    for (const { title, payload } of [...ours, ...comments]) {
      id += 1;
      const { repository, issue, sender, comment, label } = payload as Record<string, object>;
      const changed = {
        ...payload,
        installation: { id: 6_000_001 }, // none of the examples has taken the App from it
        repository: { ...repository, id },
        sender: { ...sender, id: 21_031_067 },
        issue: { ...issue, state: "open", title: "t", pull_request: undefined },
        ...(label === undefined ? {} : { label: { ...label, name: "countersign" } }),
        ...(comment === undefined ? {} : { comment: { ...comment, id, body: "/countersign fix" } }),
      };
      held.now.ms = Date.parse("2019-05-15T15:20:41Z");

      const { body } = await send(comment === undefined ? "issues" : "issue_comment", changed);

      expect({ title, body }).toEqual({ title, body: { result: "started", code: "done" } });
    }
    expect(ours.length).toBeGreaterThan(0);
    expect(comments.length).toBeGreaterThan(0);
  });

  it("under the name and the action of any other event are read without a crash", () => {
    const rules = { ownApp, allowedBots: [] };
    const actions = ["labeled", "created", "unlabeled", "closed", "suspend", "removed", "archived", "submitted"];
    for (const eventName of handledEvents) {
      for (const action of actions) {
        for (const { payload } of examples) {
          const delivery = {
            deliveryId: "d" as DeliveryId,
            eventName,
            payload: { ...payload, action },
            bodyDigest: "",
          };

          readEvent(rules, delivery as SignedDelivery);
        }
      }
    }
  });
});
