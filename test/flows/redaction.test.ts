import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Secret } from "../../src/domain/index.ts";
import { showRun } from "../../src/ledger/index.ts";
import { type GithubPlace, openGithubPlace, type RunningService } from "../support/github-service.ts";
import type { ModelServer } from "../support/model-server.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { call, type Move, startPlannedModel } from "../support/planned-model.ts";
import { letters, plantedJwt } from "../support/planted-secrets.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const aToken = (): string => `gh${"p"}_${letters(36)}`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const reversed = (text: string): string => Array.from(text).reverse().join("");

/** Canaries by where they are planted: each has the shape of a token, and none is alive. */
const planted = {
  issue: aToken(),
  argument: aToken(),
  path: aToken(),
  result: aToken(),
  error: `gh${"s"}_123456_${plantedJwt()}`,
  resource: aToken(),
  title: aToken(),
  summary: aToken(),
  file: aToken(),
};

/** Ordinary words and an address for mail, in the same places: no secrets, but nobody's business either (AUD-84). */
const plainly = (where: string): string => `quillwort-${where} ${where}@canary.example`;
const wordsIn = (text: string, sought: readonly string[]): readonly string[] =>
  sought.filter((where) => text.includes(`quillwort-${where}`) || text.includes(`${where}@canary.example`));
const places = ["issue", "title", "argument", "path", "result", "error", "content", "summary"];
/** Nobody published these on purpose: not in the diff, not in the model's own words, not as what was not done (GH-45). */
const unpublished = ["issue", "title", "argument", "result", "error"];

/** What a careless model does with secrets, but for what it would publish. `live` is one of the service's own. */
const careless = (live: string): readonly Move[] => [
  call("read_file", { path: `notes/${planted.path}.txt` }),
  call("run_command", { command: `echo ${planted.argument}; printf '%s' ${planted.result}; exit 3` }),
  call("run_command", { command: `echo '${live}'; echo '${base64(live)}' '${reversed(live)}'` }),
  call("run_command", { command: `cat /no/${planted.error} >&2; echo x >${planted.file}; rm ${planted.file}` }),
  call("read_file", { path: `notes/${plainly("path")}.txt` }),
  // What a command prints is put together by it, or its argument would hold it too.
  call("run_command", { command: `: ${plainly("argument")}; printf 'quillwort-%s %s@canary.example' result result` }),
  call("run_command", { command: "w=error; cat /no/quillwort-$w $w@canary.example >&2; exit 3" }),
  call("create_file", { path: "note.txt", content: `hello ${plainly("content")}\n` }),
];
const finish = (title: string, summary: string): Move => call("finish", { title, summary });

let place: GithubPlace;
let service: RunningService;
let receiver: OtlpReceiver;
let model: ModelServer;
const moves: Move[] = [];
const pagesToken = letters(32);
const closing = new AsyncDisposableStack();

beforeAll(async () => {
  receiver = closing.use(await startOtlpReceiver());
  model = closing.use(await startPlannedModel(moves));
  place = closing.use(await openGithubPlace({ baseUrl: model.baseUrl, model: "planned" }));
  const resource = { "service.name": `x ${planted.resource}`, deploy_token: "not-shaped-like-one" };
  const otel = {
    url: `${receiver.url}/v1/traces`,
    protocol: "http/json",
    headers: [],
    timeoutMs: 60_000,
    resource,
  } as const;
  const pages = { port: 0, token: new Secret(pagesToken) };
  service = await place.serve({ policiesFolder: place.policiesFor(4), otel, pages });
});
afterAll(() => closing.disposeAsync());

/** A run with these moves in a repository of its own, and what the people there see of it. */
async function ask(name: string, ...planned: readonly Move[]) {
  moves.splice(0, moves.length, ...planned);
  const files = { ".github/countersign.yml": "version: 1\nverify: none\n" };
  await place.addRepository(name, await writeTinyRepository(join(place.countersign.folder, name), files));
  const repository = `acme/${name}`;
  const before = service.events.filter(({ kind }) => kind === "ended").length;
  const body = `Write a note. My token is ${planted.issue} ${plainly("issue")}`;
  const number = await place.github.openIssue(repository, { title: `A note ${plainly("title")}`, body, by: "alice" });
  await place.github.label({ repository, number }, "countersign", "alice");
  await service.ended(before + 1);
  const ended = service.events.findLast(({ kind }) => kind === "ended");
  return {
    runId: ended?.kind === "ended" ? ended.runId : null,
    conclusion: ended?.kind === "ended" ? ended.conclusion : null,
    comments: place.github.read.comments({ repository, number }).map(({ body: text }) => String(text)),
    pulls: await place.github.read.pulls(repository),
    branches: await place.github.read.refs(repository, "refs/heads/countersign/"),
  };
}

const written = (): string => JSON.stringify(place.github.requests.map(({ path, requestBody }) => [path, requestBody]));
const asked = (): string => JSON.stringify(model.received.map(({ body }) => body));
const spans = (): string => receiver.requests.map(({ body }) => body.toString("utf8")).join("\n");
async function ledger(): Promise<string> {
  const rows = await place.countersign.store?.sql<{ text: string }>(
    "select convert_from(body, 'UTF8') as text from ledger_entries",
    [],
  );
  return (rows ?? []).map(({ text }) => text).join("\n");
}
const minted = (): readonly string[] =>
  place.github.requests.flatMap(({ answerBody }) => {
    const { token: one } = (answerBody ?? {}) as { readonly token?: unknown };
    return typeof one === "string" ? [one] : [];
  });
/** A page as it is given to who has the credential, or to who has none. */
async function page(path: string, token: string | null): Promise<string> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(new URL(path, service.pagesUrl ?? ""), { headers })).text();
}
const disguised = (secret: string): readonly string[] => [secret, base64(secret).slice(0, 40), reversed(secret)];

describe("canaries in a run that opens a pull request (AUD-84, SEC-100, SEC-130)", () => {
  let seen: Awaited<ReturnType<typeof ask>>;
  beforeAll(async () => {
    seen = await ask("careless", ...careless(place.webhookSecret), finish("A note", `Written. ${plainly("summary")}`));
  });

  it("keep it from nothing", () => {
    expect(seen).toMatchObject({ conclusion: "neutral", pulls: [{ draft: true, title: "A note" }], branches: [{}] });
    for (const [name, text] of Object.entries({ written: written(), asked: asked(), spans: spans() }))
      expect(text.length, name).toBeGreaterThan(1_000);
  });

  it("stand in nothing that was written to GitHub, in no span, no ledger body and no notice", async () => {
    const ways = { written: written(), spans: spans(), ledger: await ledger(), notices: service.troubles.join("\n") };
    for (const [way, text] of Object.entries(ways)) {
      for (const [where, canary] of Object.entries(planted))
        expect(text.includes(canary), `${where} in ${way}`).toBe(false);
    }
    expect(spans()).toContain("[redacted]");
    expect(spans()).not.toContain("not-shaped-like-one");
  });

  it("that are no secrets stand in no span, no ledger body, no notice, no export and no page without the credential", async () => {
    const { store } = place.countersign;
    if (store === null || seen.runId === null) throw new Error("there is no record of the run");
    const audited = await showRun(store, seen.runId);
    const paths = [
      "/runs",
      `/runs/${seen.runId}`,
      ...(audited?.actions ?? []).map((one) => `/actions/${one.action_id}`),
    ];
    const closed = await Promise.all(paths.map((path) => page(path, null)));
    const shown = (await Promise.all(paths.map((path) => page(path, pagesToken)))).join("\n");

    const ways = { spans: spans(), ledger: await ledger(), notices: service.troubles.join("\n") };
    const silent = { ...ways, exports: JSON.stringify(audited), pages: closed.join("\n") };
    for (const [way, text] of Object.entries(silent))
      expect({ way, words: wordsIn(text, places) }).toEqual({ way, words: [] });
    expect(wordsIn(written(), unpublished)).toEqual([]);
    // They were there: the model and the operator saw them, and the operator no token.
    expect(wordsIn(asked(), places)).toEqual(places.slice(0, -1)); // the summary is its last word
    expect(wordsIn(shown, ["argument", "path", "result", "error", "content", "summary"])).toHaveLength(6);
    for (const canary of Object.values(planted)) expect(shown.includes(canary)).toBe(false);
  });

  it("reach the model where they are only shaped like secrets, and never where they are alive, in any encoding", () => {
    expect(asked()).toContain(planted.result);
    for (const live of [place.webhookSecret, ...minted()]) {
      for (const form of disguised(live)) expect(asked().includes(form)).toBe(false);
    }
    expect(minted().length).toBeGreaterThan(0);
  });

  it("of the service itself stand nowhere at all", async () => {
    const everywhere = [written(), asked(), spans(), await ledger(), service.troubles.join("\n")].join("\n");
    const key = place.github.app.privateKey.split("\n")[3] ?? "";

    expect(key.length).toBeGreaterThan(40);
    for (const secret of [place.webhookSecret, key, ...minted()]) {
      for (const form of disguised(secret)) expect(everywhere.includes(form)).toBe(false);
    }
  });
});

describe("a secret in what would be published (SEC-97, AT-33)", () => {
  const secrets = [
    [`gh${"p"}_${letters(36)}`, "github-token"],
    [`gh${"s"}_123456_${plantedJwt()}`, "github-token"],
  ] as const;

  it.each(secrets)(
    "stops a file, also under a comment that switches scans off, and is not shown",
    async (secret, rule) => {
      const content = `const a = 1;\n// secretlint-disable\nconst b = "${secret}";\n`;
      const name = `file-${secrets.findIndex(([one]) => one === secret)}`;

      const seen = await ask(name, call("create_file", { path: "src/note.js", content }), finish("A note", "Written."));

      expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
      expect(seen.comments.join("\n")).toContain(`what looks like a secret (${rule}) in src/note.js, line 3`);
      expect(written()).not.toContain(secret);
      expect(written()).not.toContain(base64(content));
    },
  );

  it("stops a title and a summary, and they are not shown either", async () => {
    const note = call("create_file", { path: "note.txt", content: "hello\n" });

    const seen = await ask("texts", note, finish(`Use ${planted.title}`, `It is ${planted.summary}`));

    expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
    expect(seen.comments.join("\n")).toMatch(/\(github-token\) in the title, line 1.*in the summary, line 1/);
    for (const canary of [planted.title, planted.summary]) expect(written()).not.toContain(canary);
  });

  it("stops what the text of the pull request alone would show: the name of a file that is left out", async () => {
    const token = aToken();
    const script = `mkdir -p .github/workflows; echo x >.github/workflows/${token}.yml; echo fine >note.txt`;

    const seen = await ask("left-out", call("run_command", { command: script }), finish("A note", "Written."));

    expect(seen).toMatchObject({ conclusion: "action_required", pulls: [], branches: [] });
    expect(seen.comments.join("\n")).toContain(
      "what looks like a secret (github-token) in the words of the pull request",
    );
    expect(written()).not.toContain(token);
  });

  it("withholds `.env` by its name, and publishes the rest", async () => {
    const files = "echo A=1 >.env; mkdir -p keys; echo x >keys/server.pem; echo fine >plain.txt";

    const seen = await ask("names", call("run_command", { command: files }), finish("A note", "Written."));

    expect(seen).toMatchObject({ conclusion: "neutral", pulls: [{ draft: true }] });
    const body = String(seen.pulls[0]?.["body"]);
    expect(body).toMatch(/`\.env`: withheld by .*`secret-file`/);
    expect(body).toMatch(/`keys\/server\.pem`: withheld by .*`secret-file`/);
    expect(body).toContain("`plain.txt` (added)");
  });
});
