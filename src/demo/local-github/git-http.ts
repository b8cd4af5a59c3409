import { type ChildProcess, spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { gitEnvironment } from "./run-git.ts";
import type { Repository } from "./world.ts";

/** The end of a CGI answer's head (RFC 3875 section 6). */
const headEnd = "\r\n\r\n";

/** Serves git's smart protocol for one repository by git's own CGI program. Resolves with the status that was sent. */
export function serveGit(
  repository: Repository,
  rest: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<number> {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const text = (name: string): string => String(request.headers[name] ?? "");
  const child = spawn("git", ["http-backend"], {
    env: {
      ...gitEnvironment,
      GIT_PROJECT_ROOT: dirname(repository.folder),
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: `/${join(repository.folder.slice(dirname(repository.folder).length + 1), rest)}`,
      REQUEST_METHOD: request.method ?? "GET",
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: text("content-type"),
      CONTENT_LENGTH: text("content-length"),
      HTTP_CONTENT_ENCODING: text("content-encoding"),
      GIT_PROTOCOL: text("git-protocol"),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {}); // it may end before it has read everything
  request.pipe(child.stdin);
  response.on("close", () => child.kill());
  return passOn(child, response);
}

function passOn(child: ChildProcess, response: ServerResponse): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    let status = 0;
    child.on("error", reject);
    child.stdout?.on("data", (chunk: Buffer) => {
      if (status > 0) {
        response.write(chunk);
        return;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(headEnd);
      if (end < 0) return;
      const headers = readHead(head.subarray(0, end).toString("latin1"));
      status = Number(headers["status"]?.slice(0, 3) ?? 200);
      delete headers["status"];
      response.writeHead(status, headers);
      response.write(head.subarray(end + headEnd.length));
    });
    child.on("close", () => {
      if (status === 0) response.writeHead(500);
      response.end();
      resolve(status === 0 ? 500 : status);
    });
  });
}

const readHead = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split("\r\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
