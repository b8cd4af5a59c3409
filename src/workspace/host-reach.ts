import { lookup } from "node:dns/promises";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { Reach } from "./proxy-rules.ts";

/** This machine's own way to the network: its resolver, its routes. */
export const hostReach: Reach = {
  resolve: async (host) => (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address),
  dial,
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)),
};

/** The signal ends the attempt; a connection that stands is its taker's. */
function dial(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host: address, port, allowHalfOpen: true });
    const abort = (): void => void socket.destroy(new Error("not dialed in time"));
    const end = (): void => {
      signal.removeEventListener("abort", abort);
      socket.off("error", fail);
    };
    const fail = (error: Error): void => {
      end();
      reject(error);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", fail);
    socket.once("connect", () => {
      end();
      resolve(socket);
    });
  });
}
