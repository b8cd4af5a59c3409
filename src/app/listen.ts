import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CountersignError } from "../domain/index.ts";

/** Begins to listen and answers with the port. Throws `ADDRESS_UNUSABLE`. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    const why = (cause as NodeJS.ErrnoException).code ?? "unknown";
    const message = `nothing can listen at \`${host}\`, port ${port}: ${why}`;
    throw new CountersignError("ADDRESS_UNUSABLE", message, { cause });
  });
  return (server.address() as AddressInfo).port;
}
