import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isCountersignError } from "../../src/domain/index.ts";
import { convertManifest } from "../../src/github/index.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
let server: Server;
let handler: Handler;
let apiUrl: string;
const signal = new AbortController().signal;

beforeEach(async () => {
  server = createServer((request, response) => handler(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`;
});
afterEach(async () => {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
});

const app = {
  id: 77,
  slug: "countersign-octo",
  html_url: "https://github.com/apps/countersign-octo",
  pem: "-----BEGIN RSA PRIVATE KEY-----\nplanted-key\n-----END RSA PRIVATE KEY-----\n",
  webhook_secret: "planted-secret",
  client_secret: "planted-client-secret",
  owner: { login: "octo" },
};
const answer =
  (status: number, body: unknown): Handler =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };

async function failureOf(code = "some-code"): Promise<string> {
  try {
    await convertManifest(apiUrl, code, signal);
  } catch (error) {
    if (isCountersignError(error, "REGISTRATION_FAILED")) return `${error.message}; ${error.remedy}`;
    throw error;
  }
  return "no failure";
}

describe("the conversion of a manifest's code", () => {
  it("asks once, without credentials, and gives the App's", async () => {
    const asked: string[] = [];
    handler = (request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "no credentials"}`);
      answer(201, app)(request, response);
    };

    const registered = await convertManifest(apiUrl, "a/b", signal);

    expect(asked).toEqual(["POST /api/v3/app-manifests/a%2Fb/conversions no credentials"]);
    expect(registered).toMatchObject({ appId: 77, slug: "countersign-octo", pageUrl: app.html_url });
    expect(registered.privateKey.reveal()).toBe(app.pem);
    expect(registered.webhookSecret?.reveal()).toBe("planted-secret");
    expect(JSON.stringify(registered)).not.toContain("planted");
  });

  it("takes an App without a webhook secret", async () => {
    handler = answer(201, { ...app, webhook_secret: null });

    expect((await convertManifest(apiUrl, "c", signal)).webhookSecret).toBeNull();
  });

  it.each([404, 422])("says that the code is not good any more on %d", async (status) => {
    handler = answer(status, { message: "Not Found" });

    expect(await failureOf()).toBe(
      "GitHub does not know this code, or has handed its App over before; open the address of the form once more: what GitHub hands over is good once, and for an hour",
    );
  });

  it.each([500, 302, 200])("names any other status: %d", async (status) => {
    handler = answer(status, app);

    expect(await failureOf()).toContain(`GitHub answered with status ${status};`);
  });

  it.each([
    ["no JSON", "planted"],
    ["an App without a key", { ...app, pem: "planted" }],
    ["a slug that is none", { ...app, slug: "../planted" }],
    ["an answer without an end", JSON.stringify({ ...app, more: "planted".repeat(100_000) })],
  ])("shows nothing of an answer that is not GitHub's: %s", async (_, body) => {
    handler = answer(201, body);

    const failure = await failureOf();

    expect(failure).toContain("GitHub's answer is not that of its reference");
    expect(failure).not.toContain("planted");
  });

  it("says who did not answer where the connection breaks", async () => {
    handler = (_, response) => response.destroy();

    expect(await failureOf()).toContain(`no answer from \`${new URL(apiUrl).host}\``);
  });

  it("ends with the reason of the signal", async () => {
    const stop = new AbortController();
    handler = () => stop.abort(new Error("stopped on purpose"));

    await expect(convertManifest(apiUrl, "c", stop.signal)).rejects.toThrow("stopped on purpose");
  });
});
