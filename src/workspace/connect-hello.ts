import type { Socket } from "node:net";
import { asksForSecondHello, ClientHelloReader, type HelloRefusal } from "./client-hello.ts";
import { readStart } from "./read-start.ts";

type Ends = {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What all connections together may still carry. */
  readonly budget: { bytes: number };
};

/**
 * Leads on what a TLS client and its server say first, if the client names `host` and no other (SEC-67): a server of many hosts answers
 * for the one that is named here, whatever was asked of us. Of the server is read only whether it wants the hello once more, since
 * in that a client could name another. Nothing of a refused hello reaches the server.
 */
export async function leadHellos(
  { client, upstream, budget }: Ends,
  host: string,
  signal: AbortSignal,
): Promise<HelloRefusal | "led_on" | "not_reached"> {
  const leadHello = async (which: "first" | "second"): Promise<HelloRefusal | null> => {
    const hello = await readHello(client, which, signal);
    if (typeof hello === "string") return hello;
    if (hello.serverName !== host) return "other_server_name";
    budget.bytes -= hello.bytes.length;
    upstream.write(hello.bytes);
    return null;
  };
  const refusal = await leadHello("first");
  if (refusal !== null) return refusal;
  // INVARIANT: nothing more of the client is led on before the server's answer is known (test/workspace/connect-proxy.test.ts)
  const answer = await readAnswer(upstream, signal);
  if (answer === null) return "not_reached";
  budget.bytes -= answer.bytes.length;
  client.write(answer.bytes);
  return (answer.wantsSecond ? await leadHello("second") : null) ?? "led_on";
}

type Hello = { readonly serverName: string; readonly bytes: Buffer };

function readHello(client: Socket, which: "first" | "second", signal: AbortSignal): Promise<Hello | HelloRefusal> {
  const reader = new ClientHelloReader(which);
  const chunks: Buffer[] = [];
  return readStart<Hello | HelloRefusal>(client, { signal, ended: "no_hello" }, (chunk) => {
    const progress = reader.take(chunk);
    if (progress.kind === "refused") return { found: progress.cause, used: chunk.length };
    if (progress.kind === "more") {
      chunks.push(chunk);
      return null;
    }
    const { serverName, used } = progress;
    return { found: { serverName, bytes: Buffer.concat([...chunks, chunk.subarray(0, used)]) }, used };
  });
}

type Answer = { readonly bytes: Buffer; readonly wantsSecond: boolean };

function readAnswer(upstream: Socket, signal: AbortSignal): Promise<Answer | null> {
  let said = Buffer.alloc(0);
  return readStart<Answer | null>(upstream, { signal, ended: null }, (chunk) => {
    said = Buffer.concat([said, chunk]);
    const wantsSecond = asksForSecondHello(said);
    return wantsSecond === null ? null : { found: { bytes: said, wantsSecond }, used: chunk.length };
  });
}
