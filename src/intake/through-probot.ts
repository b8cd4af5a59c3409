import type { Options, Probot } from "probot";
import { CountersignError, type Secret } from "../domain/index.ts";
import type { SignedDelivery } from "./reading.ts";

/** Hands a delivery to Probot's `receive` and answers with what the one handler made of it. */
export type Receive<Value> = (delivery: SignedDelivery, signal: AbortSignal) => Promise<Value>;

type ProbotSettings = { readonly appId: number; readonly privateKey: Secret; readonly secret: Secret };

type InHand<Value> = {
  readonly delivery: SignedDelivery;
  readonly signal: AbortSignal;
  settled: { readonly value: Value } | { readonly error: unknown } | null;
};

/**
 * Probot as the app function's host: no server, no log (it would write whole payloads at `debug`, and errors with their
 * event), no handler but ours. It hands on the payload object itself, which is how a delivery finds what belongs to it.
 */
export function throughProbot<Value>(
  settings: ProbotSettings,
  handle: (delivery: SignedDelivery, signal: AbortSignal) => Promise<Value>,
): Receive<Value> {
  const inHand = new WeakMap<object, InHand<Value>>();
  const settle: Handler = async ({ payload }) => {
    const received = inHand.get(payload);
    if (received === undefined) return;
    received.settled = await handle(received.delivery, received.signal).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
  };
  const opening = openProbot(settings, settle);
  opening.catch(() => undefined); // each delivery is told
  return async (delivery, signal) => {
    const probot = await opening;
    const received: InHand<Value> = { delivery, signal, settled: null };
    inHand.set(delivery.payload, received);
    const event = { id: delivery.deliveryId, name: delivery.eventName, payload: delivery.payload };
    await probot.receive(event as unknown as Parameters<Probot["receive"]>[0]);
    const { settled } = received;
    if (settled === null) throw new Error("no handler was called");
    if ("error" in settled) throw settled.error;
    return settled.value;
  };
}

type Handler = Parameters<Probot["onAny"]>[0];

/** Loaded here, since no command but `serve` and the demonstration takes deliveries, and loading is most of a command's start. */
async function openProbot(settings: ProbotSettings, handler: Handler): Promise<Probot> {
  const { Probot: App } = await import("probot");
  const probot = new App({
    appId: settings.appId,
    privateKey: settings.privateKey.reveal(),
    secret: settings.secret.reveal(),
    log: silentLog,
  });
  probot.onAny(handler);
  return probot;
}

const silent = (): void => undefined;
const silentLog = {
  level: "silent",
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
  child: () => silentLog,
} as unknown as NonNullable<Options["log"]>;

/** The secrets are checked where they come in, since a short one can be guessed (SEC-110). */
export function checkSecrets(secrets: readonly Secret[]): void {
  const leastBytes = 32;
  const isStrong = (secret: Secret): boolean => Buffer.byteLength(secret.reveal()) >= leastBytes;
  if (secrets.length > 0 && secrets.every(isStrong)) return;
  throw new CountersignError("CONFIG_INVALID", "`WEBHOOK_SECRET` is missing or too short, expected 32 bytes or more", {
    remedy: "set WEBHOOK_SECRET, and the App's webhook secret on GitHub, to a random value such as 64 hex digits",
  });
}
