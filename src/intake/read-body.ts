import type { IncomingMessage } from "node:http";

/** The bytes of a request, or why they are not all there. */
export type BodyRead =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "too_large" }
  | { readonly kind: "broken_off" };

/**
 * Reads a body that is counted as it streams in (SEC-111). Past the cap nothing is kept: what was read is let go and the
 * rest is left to the server, which throws it away byte by byte. How long it may take is for the server's timeouts.
 */
export function readBody(request: IncomingMessage, sizeLimitBytes: number): Promise<BodyRead> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > sizeLimitBytes) return Promise.resolve({ kind: "too_large" });
  return new Promise((done) => {
    let chunks: Buffer[] = [];
    let sizeBytes = 0;
    const settle = (read: BodyRead): void => {
      chunks = [];
      request.off("data", take).off("end", end).off("close", close);
      done(read);
    };
    const take = (chunk: Buffer): void => {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > sizeLimitBytes) settle({ kind: "too_large" });
      else chunks.push(chunk);
    };
    const end = (): void => settle({ kind: "bytes", bytes: Buffer.concat(chunks) });
    const close = (): void => settle({ kind: "broken_off" });
    request.on("data", take).on("end", end).on("close", close);
    // A connection that breaks is an error first; unheard, it would end the process.
    request.on("error", () => undefined);
  });
}
