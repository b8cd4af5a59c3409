import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { letGo, readPlan, say } from "./child-plan.ts";
import type { LoadPlan } from "./load.ts";
import { type SampleDelivery, sampleDelivery } from "./sample-delivery.ts";

// A process of its own, so that what sends takes no time of what is measured but the processor's.
const plan = readPlan<LoadPlan>();
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections });
const latenciesMs: number[] = [];
const accepted: string[] = [];
const answers: Record<string, number> = {};
let sent = 0;
let broken = 0;

type Answer = { readonly status: number; readonly body: string };

function post({ id, event, body }: SampleDelivery): Promise<Answer> {
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "user-agent": "GitHub-Hookshot/1d0ca1e",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${createHmac("sha256", plan.secret).update(body).digest("hex")}`,
  };
  return new Promise((done, fail) => {
    const sending = request(plan.url, { method: "POST", agent, headers }, (response) => {
      text(response).then((said) => done({ status: response.statusCode ?? 0, body: said }), fail);
    });
    sending.once("error", fail);
    sending.end(body);
  });
}

function note(delivery: SampleDelivery, { status, body }: Answer, tookMs: number): void {
  latenciesMs.push(tookMs);
  const code = /"(?:code|error)":"(\w+)"/.exec(body)?.[1] ?? "";
  const key = `${status} ${code}`.trim();
  answers[key] = (answers[key] ?? 0) + 1;
  if (status < 200 || status > 299) return;
  accepted.push(delivery.id);
  if (accepted.length === plan.announceAt) say({ kind: "announced" });
}

/** Until all were sent, or the connection broke. */
async function sendOnOneConnection(): Promise<void> {
  while (sent < plan.count) {
    const number = sent;
    sent += 1;
    const seed = plan.deliveries[number % plan.deliveries.length];
    if (seed === undefined) throw new Error("no deliveries");
    const delivery = sampleDelivery(seed, number);
    const startedAt = performance.now();
    const answer = await post(delivery).catch(() => null);
    if (answer === null) {
      broken += 1;
      return;
    }
    note(delivery, answer, performance.now() - startedAt);
  }
}

letGo().addEventListener("abort", () => process.exit());
const startedAt = performance.now();
await Promise.all(Array.from({ length: plan.connections }, sendOnOneConnection));
const seconds = (performance.now() - startedAt) / 1000;
agent.destroy();
say({ seconds, latenciesMs, accepted, answers, broken });
