import { createHmac, generateKeyPairSync, randomBytes } from "node:crypto";
import { Secret } from "../../src/domain/index.ts";
import { createIntake, type IntakeDeps, intakeTimes } from "../../src/intake/index.ts";
import type { Ledger } from "../../src/ledger/index.ts";
import { parseOperatorSettings } from "../../src/policy/index.ts";
import type { Store } from "../../src/store/index.ts";
import { loadStandard } from "./policy-requests.ts";
import type { TestLedger } from "./test-ledger.ts";

export const webhookSecret = "a webhook secret of more than 32 bytes";
export const ownApp = { id: 4711, botUserId: 90_001 };
export const writer = { id: 501, login: "ada", type: "User" } as const;

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

export const sign = (body: string | Uint8Array, secret = webhookSecret): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** Settings of an operator; one sender may start many runs, so that tests can share a database. */
export function operatorWith({ caps = {}, ...settings }: { readonly caps?: object; readonly [key: string]: unknown }) {
  const many = { hour: 10_000, day: 10_000 };
  return parseOperatorSettings(
    JSON.stringify({ ...settings, caps: { runs_per_sender: many, tokens_per_day: 1_000_000_000_000, ...caps } }),
    "operator.json",
  );
}

const policies = await loadStandard();

/** All that intake needs: a real store and ledger, a GitHub in which `ada` may write, nothing sent anywhere. */
export function intakeDeps(store: Store, held: TestLedger, ledger: Ledger = held.ledger): IntakeDeps {
  return {
    store,
    ledger,
    keys: held.keys,
    queue: { enqueue: async (...job) => (await store.queue()).enqueue(...job) },
    clock: () => held.now.ms,
    randomBytes,
    operator: operatorWith({}),
    github: {
      permission: async () => ({ permission: "write", userId: writer.id, requestId: null }),
      issue: async () => ({ isOpen: true, labels: ["countersign"] }),
      comment: async (_place, id) => standing.get(id) ?? null,
    },
    ownApp,
    policies,
    times: intakeTimes,
    health: async () => ({ isReady: true, facts: {} }),
    onTrouble: () => undefined,
  };
}

export type Sent = { readonly status: number; readonly body: { readonly [key: string]: unknown } };
/** A real intake server on loopback with a client that signs. */
export type TestIntake = AsyncDisposable & {
  readonly url: string;
  send(event: string, payload: object, options?: { id?: string; headers?: Record<string, string> }): Promise<Sent>;
};

export async function startIntake(deps: IntakeDeps, secrets: readonly string[] = [webhookSecret]): Promise<TestIntake> {
  const intake = createIntake(deps, {
    privateKey: new Secret(privateKey),
    webhookSecrets: secrets.map((secret) => new Secret(secret)),
    webhookPath: "/api/github/webhooks",
  });
  const port = await intake.listen(0, "127.0.0.1");
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    send: async (event, payload, { id = newDeliveryId(), headers = {} } = {}) => {
      const body = JSON.stringify(payload);
      const response = await fetch(`${url}/api/github/webhooks`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-github-event": event,
          "x-github-delivery": id,
          "x-hub-signature-256": sign(body),
          ...headers,
        },
        body,
      });
      return { status: response.status, body: (await response.json()) as Sent["body"] };
    },
    [Symbol.asyncDispose]: () => intake[Symbol.asyncDispose](),
  };
}

export const newDeliveryId = (): string => crypto.randomUUID();

type Changes = {
  readonly issue?: object;
  readonly repository?: object;
  readonly sender?: object;
  readonly comment?: object;
  readonly label?: object;
};

/** The test ledger's time begins with the year; what is asked for was asked for then. */
const at = "2026-01-01T00:00:00Z";
const installation = { id: 31 };
let nextId = 1000;

/** Numbers that no other payload of the process has, so that tests can share a database. */
const freshNumber = (): number => {
  nextId += 1;
  return nextId;
};

const aRepository = (changes: object = {}) => ({
  id: freshNumber(),
  name: "shop",
  owner: { login: "octo" },
  fork: false,
  archived: false,
  disabled: false,
  ...changes,
});
const anIssue = (changes: object = {}) => ({
  id: freshNumber(),
  number: 7,
  title: "Totals are wrong",
  body: "The sum is one too low.",
  state: "open",
  updated_at: at,
  user: { id: 777 },
  ...changes,
});

export const labelled = ({ issue, repository, sender, label }: Changes = {}) => ({
  action: "labeled",
  label: { id: 5, name: "countersign", ...label },
  issue: anIssue(issue),
  repository: aRepository(repository),
  installation,
  sender: { ...writer, ...sender },
});

/** The comments as GitHub has them: as they were delivered. */
const standing = new Map<number, { readonly body: string }>();

export const commented = (body: string, { issue, repository, sender, comment }: Changes = {}) => {
  const written = { id: freshNumber(), body, created_at: at, performed_via_github_app: null, ...comment };
  standing.set(written.id, written);
  return {
    action: "created",
    comment: written,
    issue: anIssue(issue),
    repository: aRepository(repository),
    installation,
    sender: { ...writer, ...sender },
  };
};
