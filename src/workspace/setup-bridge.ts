import { networkFolderInside } from "./sandbox-flags.ts";

/** What lies in the folder that setup's sandbox alone has: the host's socket, the bridge to it, certificates to trust. */
export const networkFiles = { socket: "proxy", bridge: "bridge.mjs", certificates: "certificates.pem" } as const;

/** Where the bridge listens inside, in a network of its own that nothing else is in. */
const bridgePort = 3128;

export const bridgeUrl = `http://127.0.0.1:${bridgePort}`;
export const certificatesInside = `${networkFolderInside}/${networkFiles.certificates}`;

/** What setup's command is started by, on our own Node. */
export const bridgeInside: readonly string[] = [
  "/opt/tools/bin/node",
  `${networkFolderInside}/${networkFiles.bridge}`,
  `${networkFolderInside}/${networkFiles.socket}`,
  `${bridgePort}`,
];
