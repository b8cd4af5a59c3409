import type { ServiceSettings } from "../app/index.ts";
import { type BenchChild, startChild } from "./bench-child.ts";
import type { BenchPlace } from "./bench-place.ts";

/** What the process of Probot's own server is told. */
export type ProbotPlan = {
  readonly appId: number;
  readonly privateKey: string;
  readonly webhookSecret: string;
  readonly webhookPath: string;
  /** Null: the handler does nothing. Else it inserts one row for each delivery. */
  readonly databaseUrl: string | null;
};

/** What the process of the service is told: its settings, as JSON has them. */
export type ServicePlan = Pick<
  ServiceSettings,
  "home" | "databaseUrl" | "policiesFolder" | "runUids" | "webhookPath" | "role"
> & {
  readonly app: {
    readonly id: number;
    readonly privateKey: string;
    readonly webhookSecret: string;
    readonly apiUrl: string;
    readonly gitUrl: string;
  };
  readonly model: { readonly baseUrl: string; readonly name: string };
};

/** A process that takes deliveries. */
export type Receiver = BenchChild & { readonly url: string };

export const webhookPath = "/api/github/webhooks";

export const startProbot = (place: BenchPlace, plan: ProbotPlan, signal: AbortSignal): Promise<Receiver> =>
  listening(startChild(place, "probot-process.ts", plan, signal));

export const startService = (place: BenchPlace, plan: ServicePlan, signal: AbortSignal): Promise<Receiver> =>
  listening(startChild(place, "service-process.ts", plan, signal));

async function listening(starting: Promise<BenchChild>): Promise<Receiver> {
  await using undo = new AsyncDisposableStack();
  const child = undo.use(await starting);
  const { port } = (await child.next()) as { readonly port: number };
  undo.move();
  return { ...child, url: `http://127.0.0.1:${port}${webhookPath}` };
}
