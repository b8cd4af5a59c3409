import type { Socket } from "node:net";

/** What the chunks so far amount to, and how many bytes of the last one belong to it; null: more is needed. */
type Taken<Found> = { readonly found: Found; readonly used: number } | null;

/**
 * Reads what a socket says first, chunk by chunk, until `take` has found what it looks for. What comes after that stays unread.
 * Gives `ended` where the socket says no more, or the signal is aborted.
 */
export function readStart<Found>(
  socket: Socket,
  { signal, ended }: { readonly signal: AbortSignal; readonly ended: Found },
  take: (chunk: Buffer) => Taken<Found>,
): Promise<Found> {
  return new Promise((resolve) => {
    const done = (found: Found): void => {
      socket.pause();
      socket.off("data", hear).off("close", giveUp).off("end", giveUp);
      signal.removeEventListener("abort", giveUp);
      resolve(found);
    };
    const giveUp = (): void => done(ended);
    const hear = (chunk: Buffer): void => {
      const taken = take(chunk);
      if (taken === null) return;
      done(taken.found);
      if (taken.used < chunk.length) socket.unshift(chunk.subarray(taken.used));
    };
    if (signal.aborted || socket.destroyed || socket.readableEnded) return giveUp();
    socket.on("data", hear).on("close", giveUp).on("end", giveUp);
    signal.addEventListener("abort", giveUp, { once: true });
    socket.resume();
  });
}
