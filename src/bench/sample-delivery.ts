import { createHash } from "node:crypto";

/** What of a delivery leads to what: a label that nobody waits for, or the one that starts a run. */
export type DeliveryKind = "other_label" | "trigger";

/** Of which deliveries one is. The same seed, number and time give the same bytes. */
export type DeliverySeed = { readonly kind: DeliveryKind; readonly seed: string; readonly at: string };

export type SampleDelivery = { readonly id: string; readonly event: string; readonly body: string };

/** `performance.md` section 2. */
const payloadBytes = 8_600;

/** So that tokens of an installation are used again, as they are where a repository has more than one issue. */
const repositoryCount = 50;
const addressesOfRepository = 44;
const addressesOfPerson = 12;

/** A label on an issue, of the size and about the form that GitHub sends. No two of a process are about one issue. */
export function sampleDelivery({ kind, seed, at }: DeliverySeed, number: number): SampleDelivery {
  const digest = createHash("sha256").update(`${seed} ${number}`).digest();
  const hex = digest.toString("hex");
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const ofSeed = createHash("sha256").update(seed).digest().readUInt32BE();
  const ids = {
    repository: 1 + ofSeed * repositoryCount + (number % repositoryCount),
    issue: 1 + digest.readUIntBE(20, 6),
    number: 1 + number,
  };
  const payload = payloadOf(ids, at, kind === "trigger" ? "countersign" : "question");
  const missing = payloadBytes - Buffer.byteLength(JSON.stringify(payload));
  if (missing < 0) throw new Error("the payload is too large without a text");
  const body = "The sum is one too low. ".repeat(missing).slice(0, missing);
  return { id, event: "issues", body: JSON.stringify({ ...payload, issue: { ...payload.issue, body } }) };
}

type Ids = { readonly repository: number; readonly issue: number; readonly number: number };

function payloadOf({ repository: repositoryId, issue: issueId, number }: Ids, at: string, label: string) {
  const senderId = issueId;
  const root = `https://api.github.com/repos/octo/shop-${repositoryId}`;
  return {
    action: "labeled",
    issue: {
      id: issueId,
      number,
      title: "Totals are wrong",
      state: "open",
      locked: false,
      comments: 0,
      created_at: at,
      updated_at: at,
      user: personOf(senderId),
      labels: [{ id: 5, name: label, color: "ededed", default: false, description: null }],
      body: "",
    },
    label: { id: 5, name: label, color: "ededed", default: false, description: null },
    repository: {
      id: repositoryId,
      name: `shop-${repositoryId}`,
      full_name: `octo/shop-${repositoryId}`,
      private: false,
      fork: false,
      archived: false,
      disabled: false,
      owner: personOf(7),
      ...addresses(root, addressesOfRepository),
    },
    sender: personOf(senderId),
    installation: { id: 31, node_id: "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMzE=" },
  };
}

const personOf = (id: number) => ({
  id,
  login: `person-${id}`,
  type: "User",
  site_admin: false,
  ...addresses(`https://api.github.com/users/person-${id}`, addressesOfPerson),
});

const addresses = (root: string, count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`kind_${at}_url`, `${root}/kind-${at}{/number}`]));
