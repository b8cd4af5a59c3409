import { startChild } from "./bench-child.ts";
import type { BenchPlace } from "./bench-place.ts";
import type { DeliverySeed } from "./sample-delivery.ts";

/** Deliveries that are sent over so many connections, each with its next one as soon as it has its answer. */
export type LoadPlan = {
  readonly url: string;
  readonly secret: string;
  /** More than one: their deliveries take turns. */
  readonly deliveries: readonly DeliverySeed[];
  readonly count: number;
  readonly connections: number;
  /** Says so when so many were answered with 2xx. */
  readonly announceAt: number | null;
};

export type Loaded = {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  /** Ids that were answered with 2xx. */
  readonly accepted: readonly string[];
  /** How often each answer was given: its status and its code. */
  readonly answers: Readonly<Record<string, number>>;
  /** Requests that got no answer. */
  readonly broken: number;
};

/** Sends a load from a process of its own; `onAnnounced` is called at the number that the plan asks for. */
export async function sendLoad(
  place: BenchPlace,
  plan: LoadPlan,
  signal: AbortSignal,
  onAnnounced: () => Promise<void> = () => Promise.resolve(),
): Promise<Loaded> {
  await using child = await startChild(place, "load-process.ts", plan, signal);
  if (plan.announceAt !== null) {
    await child.next();
    await onAnnounced();
  }
  return (await child.next()) as Loaded;
}
