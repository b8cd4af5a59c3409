import { describe, expect, it } from "vitest";
import { CountersignError } from "../../src/domain/index.ts";
import { commandLine } from "../support/cli.ts";

const registration = {
  appId: 77,
  installUrl: "https://github.com/apps/countersign/installations/new",
  folder: "/srv/countersign/keys/github-app",
  hasWebhookSecret: true,
};

describe("serve", () => {
  it("says what it is made of, waits for the signal, hands over what is under way and ends well", async () => {
    const stop = new AbortController();
    const steps: string[] = [];
    const openService = () =>
      Promise.resolve({
        givenUp: new Promise<never>(() => undefined),
        parts: [
          { name: "webhooks", detail: "http://127.0.0.1:3000/api/github/webhooks" },
          { name: "database", detail: "postgresql://127.0.0.1/countersign (embedded)" },
        ],
        [Symbol.asyncDispose]: () => {
          steps.push("handed over");
          return Promise.resolve();
        },
      });

    const ended = await commandLine(["serve"], { openService, signal: stop.signal }, (text) => {
      if (!text.startsWith("ready")) return;
      steps.push("ready");
      setImmediate(() => stop.abort());
    });

    expect(ended).toEqual({
      exitCode: 0,
      out: "",
      err: [
        "webhooks  http://127.0.0.1:3000/api/github/webhooks",
        "database  postgresql://127.0.0.1/countersign (embedded)",
        "ready; Ctrl-C stops it",
        "stopping: runs under way are handed over",
        "",
      ].join("\n"),
    });
    expect(steps).toEqual(["ready", "handed over"]);
  });

  it("ends with 1 and why where the operator wants an outage of the log to end it (AUD-52)", async () => {
    const outage = new CountersignError("LEDGER_UNAVAILABLE", "an action could not be recorded");
    const openService = () =>
      Promise.resolve({ parts: [], givenUp: Promise.resolve(outage), [Symbol.asyncDispose]: () => Promise.resolve() });

    const ended = await commandLine(["serve"], { openService });

    expect(ended.exitCode).toBe(1);
    expect(ended.err).toMatch(
      /stopping: runs under way are handed over\n.*could not be recorded.*\[LEDGER_UNAVAILABLE\]\n$/,
    );
  });

  it("ends with 2 and one line where it can't be started as it is configured", async () => {
    const refusal = new CountersignError("CONFIG_INVALID", "APP_ID: got nothing, expected the number", {
      remedy: "for example APP_ID=1",
    });

    const ended = await commandLine(["serve"], { openService: () => Promise.reject(refusal) });

    expect(ended).toEqual({
      exitCode: 2,
      out: "",
      err: "countersign: APP_ID: got nothing, expected the number; for example APP_ID=1 [CONFIG_INVALID]\n",
    });
  });

  it("takes no organization without a registration", async () => {
    const ended = await commandLine(["serve", "--organization", "octo-org"], {});

    expect(ended).toMatchObject({ exitCode: 2, out: "" });
    expect(ended.err).toContain("`--organization` goes with `--register`");
  });
});

describe("serve --register", () => {
  it("names the form, then what was stored and what comes next", async () => {
    const asked: unknown[] = [];
    const ended = await commandLine(["serve", "--register", "https://cs.example.org", "--organization", "octo-org"], {
      register: (request, onReady) => {
        asked.push(request);
        onReady("https://cs.example.org/register/token", "127.0.0.1, port 3000");
        return Promise.resolve(registration);
      },
    });

    expect(asked).toEqual([{ publicAddress: "https://cs.example.org", organization: "octo-org" }]);
    expect(ended).toEqual({
      exitCode: 0,
      err: "",
      out: [
        "listening at 127.0.0.1, port 3000",
        "open https://cs.example.org/register/token",
        "in a browser where you are signed in to GitHub; Ctrl-C gives up",
        "registered App 77; its credentials are in /srv/countersign/keys/github-app (keep a copy in a safe place)",
        "next, install it on your repositories: https://github.com/apps/countersign/installations/new",
        "then start the service: npx --no -- countersign serve",
        "",
      ].join("\n"),
    });
  });

  it("says what is missing where GitHub made no webhook secret", async () => {
    const register = () => Promise.resolve({ ...registration, hasWebhookSecret: false });

    const ended = await commandLine(["serve", "--register", "https://cs.example.org"], { register });

    expect(ended.out).toContain("set one in the App's settings and in WEBHOOK_SECRET\n");
  });

  it("ends with 2 where an App is registered already", async () => {
    const register = () => Promise.reject(new CountersignError("ALREADY_REGISTERED", "there is one"));

    const ended = await commandLine(["serve", "--register", "https://cs.example.org"], { register });

    expect(ended).toMatchObject({ exitCode: 2, out: "" });
  });
});
