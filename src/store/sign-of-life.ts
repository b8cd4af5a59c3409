import { connect } from "node:net";

/** Where a server listens, as `node:net` takes it. */
export type Dial = { readonly host: string; readonly port: number } | { readonly path: string };

/** With these two an outage refuses what comes next within a second (AUD-59). Silence alone proves nothing: a disk may be slow. */
const silenceMs = 200;
const signWithinMs = 500;
/** So that a stall of this process, or of the whole machine, is not counted as the server's. */
const tickMs = 100;
/** A server that lives and goes on being silent is looked at with rising pauses, up to this one. */
const longestPauseMs = 5_000;
/** What follows at once, such as the entry that would tell of the failure, is not waited for as long again. */
const takenAsSilentMs = 250;

/** Does what waits for the server, as long as that lives. Throws what the work throws, and an `Error` where it doesn't. */
export type WhileAlive = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Tells a server that is gone, frozen or cut off from one that takes its time: where work is silent it is asked for a sign of
 * life, which costs it no disk. One look serves all who wait.
 */
export function watchLife(hasSign: () => Promise<boolean>): WhileAlive {
  let looking: Promise<boolean> | null = null;
  let silentUntilMs = 0;
  const look = async (): Promise<boolean> => {
    const isAlive = await hasSign();
    if (!isAlive) silentUntilMs = performance.now() + takenAsSilentMs;
    looking = null;
    return isAlive;
  };
  return async (work) => {
    if (performance.now() < silentUntilMs) throw silent();
    const { promise: gone, reject } = Promise.withResolvers<never>();
    let pauseMs = silenceMs;
    let timer = setTimeout(onSilence, pauseMs);
    let isOver = false;
    async function onSilence(): Promise<void> {
      looking ??= look();
      if (!(await looking)) return reject(silent());
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      if (!isOver) timer = setTimeout(onSilence, pauseMs);
    }
    try {
      return await Promise.race([work(), gone]);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  };
}

const silent = (): Error => new Error("the server gives no sign of life");

/** PostgreSQL documentation, "Message Formats": the first thing a client may ask, before it says who it is. One byte answers. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** Whether a server answers a client that it does not know yet. Never throws. */
export async function givesSign(dial: Dial): Promise<boolean> {
  const socket = connect(dial);
  const { promise: sign, resolve } = Promise.withResolvers<boolean>();
  socket.on("error", () => resolve(false));
  socket.once("data", () => resolve(true));
  socket.once("close", () => resolve(false));
  socket.write(sslRequest);
  let leftMs = signWithinMs;
  const timer = setInterval(() => {
    leftMs -= tickMs;
    if (leftMs <= 0) resolve(false);
  }, tickMs);
  try {
    return await sign;
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
}
