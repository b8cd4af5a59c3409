import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CountersignError } from "../domain/index.ts";

/** Begins to listen and answers with the port. Throws `CONFIG_INVALID`. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    const isTaken = (cause as NodeJS.ErrnoException).code === "EADDRINUSE";
    const why = isTaken ? "is taken by another program" : "can't be listened on";
    throw new CountersignError("CONFIG_INVALID", `port \`${port}\` of \`${host}\` ${why}`, {
      cause,
      remedy: "set PORT to a free port and HOST to an address of this machine",
    });
  });
  return (server.address() as AddressInfo).port;
}
