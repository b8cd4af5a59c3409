import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** From the end of an answer that called `tool` to the arrival of the next request; `step` counts the answers before it. */
export type Gap = { readonly step: number; readonly tool: string; readonly gapMs: number };

/** What was noted since the last look. */
export type Served = {
  readonly gaps: Gap[];
  requests: number;
  /** Requests that begin with the whole of the one before, tools included; a conversation's first one counts. */
  stable: number;
  /** Of the system message and the tools, as sent. */
  promptChars: number;
};

/** A server of the chat completions protocol without latency, in a thread of its own (`model-script.ts` says what it does). */
export type ModelServer = AsyncDisposable & {
  readonly baseUrl: string;
  /** What was noted, and begins anew. */
  take(): Promise<Served>;
};

export async function startModelServer(): Promise<ModelServer> {
  const worker = new Worker(new URL("./model-server-thread.ts", import.meta.url));
  const [{ port }] = (await once(worker, "message")) as [{ port: number }];
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    take: async () => {
      const answer = once(worker, "message");
      worker.postMessage("take");
      return ((await answer) as [Served])[0];
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}
