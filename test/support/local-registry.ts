import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { gzipSync } from "node:zlib";
import type { Reach } from "../../src/workspace/index.ts";
import { aCertificate } from "./certificate.ts";

/** The names are reserved for tests (RFC 6761): nothing outside of a test answers to them. */
export const registryHost = "registry.test";

export type LocalRegistry = AsyncDisposable & {
  readonly certificate: string;
  /** Paths that were asked for, in order. */
  readonly requests: readonly string[];
  /** Finds the registry by its name, on loopback; every other name as `names` has it. Hears what is resolved and dialed. */
  readonly reach: (names?: Readonly<Record<string, readonly string[]>>) => Reach & { readonly log: readonly string[] };
};

/** A package registry over TLS that has one package, and knows how to be asked for nothing but its archive. */
export async function startLocalRegistry(): Promise<LocalRegistry> {
  const { certificate, key } = aCertificate(registryHost);
  const requests: string[] = [];
  const server = createServer({ cert: certificate, key }, (request, response) => {
    requests.push(request.url ?? "");
    const isKnown = request.url === `/mirror${archivePath}`;
    response.writeHead(isKnown ? 200 : 404).end(isKnown ? tinyArchive : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    certificate,
    requests,
    reach: (names = {}) => {
      const log: string[] = [];
      return {
        log,
        resolve: (host) => {
          log.push(`resolve ${host}`);
          return Promise.resolve(names[host] ?? (host === registryHost ? ["127.0.0.1"] : []));
        },
        dial: async (address, wanted) => {
          log.push(`dial ${address}:${wanted}`);
          const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
          await once(socket, "connect");
          return socket;
        },
        ownAddresses: () => ["127.0.0.1", "::1"],
      };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const archivePath = "/tiny/-/tiny-1.0.0.tgz";
const scripts = (where: string) =>
  Object.fromEntries(
    ["preinstall", "install", "postinstall"].map((name) => [name, `echo ran > "${where}/${name}-ran"`]),
  );

const tinyArchive = archiveOf({
  "package/package.json": JSON.stringify({
    name: "tiny",
    version: "1.0.0",
    main: "index.js",
    scripts: scripts("/workspace"),
  }),
  "package/index.js": "module.exports = (a, b) => a + b;\n",
});

/** A tar archive (POSIX ustar), compressed. */
function archiveOf(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([name, text]) => {
    const head = Buffer.alloc(512);
    const size = text.length.toString(8).padStart(11, "0");
    head.write(name, 0);
    head.write("0000644\x000000000\x000000000\x00", 100);
    head.write(`${size}\x0000000000000\x00        0`, 124);
    head.write("ustar\x0000", 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, "0")}\x00 `, 148);
    return [head, Buffer.from(text), Buffer.alloc((512 - (text.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

const lockOf = (resolved: string) => ({
  name: "sums",
  version: "1.0.0",
  lockfileVersion: 3,
  requires: true,
  packages: {
    "": { name: "sums", version: "1.0.0", hasInstallScript: true, dependencies: { tiny: "1.0.0" } },
    "node_modules/tiny": {
      version: "1.0.0",
      resolved,
      integrity: `sha512-${createHash("sha512").update(tinyArchive).digest("base64")}`,
      hasInstallScript: true,
    },
  },
});

/** A project that needs the registry's package. Its lock file names another host than the registry's (SEC-69). */
export const projectFiles: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({
    name: "sums",
    version: "1.0.0",
    scripts: { test: "node test.cjs", ...scripts(".") },
    dependencies: { tiny: "1.0.0" },
  }),
  "package-lock.json": JSON.stringify(lockOf(`https://elsewhere.test${archivePath}`)),
  "test.cjs": 'require("node:assert").equal(require("tiny")(1, 2), 3);\n',
};
