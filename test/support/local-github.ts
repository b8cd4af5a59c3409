import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import {
  type LocalGithub,
  type LocalGithubOptions,
  startLocalGithub,
  writeSampleRepository,
} from "../../src/demo/index.ts";
import type { JsonObject } from "../../src/domain/index.ts";

/** A git repository of the sample, made once for all tests of a file. */
let sample: Promise<string> | null = null;

async function makeSample(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-sample-"));
  await writeSampleRepository(join(folder, "sample"), new AbortController().signal);
  return join(folder, "sample");
}

afterAll(async () => {
  if (sample !== null) await rm(dirname(await sample), { recursive: true, force: true });
});

/** RSA keys take their time: one for all tests of a file. */
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});

export type GithubForTest = AsyncDisposable & {
  readonly github: LocalGithub;
  readonly folder: string;
  /** The time that this GitHub has. */
  setTime(ms: number): void;
  nowMs(): number;
};

/** A local GitHub with people `ada` (owner), `wes` (write), `rita` (read) and the sample repository as `ada/sample`. */
export async function openGithub(
  signal: AbortSignal,
  options: Partial<Omit<LocalGithubOptions, "clock" | "folder">> = {},
): Promise<GithubForTest> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-github-"));
  let timeMs = Date.parse("2026-03-01T12:00:00Z");
  const github = await startLocalGithub({
    clock: () => timeMs,
    randomBytes: (count) => randomBytes(count),
    folder: join(folder, "repositories"),
    ...options,
    app: { privateKey, ...options.app },
  });
  for (const login of ["ada", "wes", "rita"]) github.createAccount(login);
  sample ??= makeSample();
  await github.createRepository(
    { owner: "ada", name: "sample", source: { kind: "git", folder: await sample } },
    signal,
  );
  github.addCollaborator("ada/sample", "wes", "write");
  github.addCollaborator("ada/sample", "rita", "read");
  return {
    github,
    folder,
    setTime: (ms) => {
      timeMs = ms;
    },
    nowMs: () => timeMs,
    async [Symbol.asyncDispose]() {
      await github[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type Claims = { readonly iat?: number; readonly exp?: number; readonly iss?: unknown };

/** The App's JSON web token, with claims changed as a test wants. */
export function jsonWebToken({ github, nowMs }: GithubForTest, claims: Claims = {}, header: object = {}): string {
  const nowS = Math.floor(nowMs() / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const head = part({ alg: "RS256", typ: "JWT", ...header });
  const body = part({ iat: nowS - 30, exp: nowS + 570, iss: github.app.id, ...claims });
  const signature = sign("sha256", Buffer.from(`${head}.${body}`), github.app.privateKey).toString("base64url");
  return `${head}.${body}.${signature}`;
}

export type Reply = { readonly status: number; readonly headers: Headers; readonly body: unknown };
export type Send = (method: string, path: string, body?: unknown) => Promise<Reply>;

/** Calls the API with a token (or none), as plain HTTP. */
export const caller =
  ({ github }: GithubForTest, token: string | null): Send =>
  async (method, path, body) => {
    const response = await fetch(path.startsWith("http") ? path : `${github.apiUrl}${path}`, {
      method,
      redirect: "manual",
      headers: { "user-agent": "test", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };

/** A token of the sample's installation, with all of the App's rights or those given. */
export async function tokenFor(
  at: GithubForTest,
  request: JsonObject = {},
  repository = "ada/sample",
): Promise<string> {
  const id = at.github.installationId(repository);
  const reply = await caller(at, jsonWebToken(at))("POST", `/app/installations/${id}/access_tokens`, request);
  if (reply.status !== 201) throw new Error(`no token: ${JSON.stringify(reply.body)}`);
  return (reply.body as { token: string }).token;
}
