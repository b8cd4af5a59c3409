import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createRedactor, type Redactor, Secret } from "../../domain/index.ts";
import { alternate, timed } from "../alternate.ts";
import { atLeast, figure, type Size } from "../figure.ts";
import type { Row } from "./row.ts";

const megabyte = 1_000_000;
const sizes: Readonly<Record<Size, { readonly rounds: number; readonly megabytes: number }>> = {
  short: { rounds: 1, megabytes: 1 },
  bench: { rounds: 15, megabytes: 20 },
  soak: { rounds: 15, megabytes: 200 },
};

/** Redaction must cost next to nothing beside what it stands before: a model, a network. */
const goal = atLeast(100);
const chunkLength = 65_536;
const secretEvery = 1_000;

/** The redactor over source text: a service's live secrets, and every value-shaped pattern (SEC-100 to 102). */
export const redactorRow: Row = {
  name: "redactor",
  title: "redaction beside one look at each character",
  measure: async ({ deps, settings }, size, signal) => {
    const { rounds, megabytes } = sizes[size];
    const secret = (bytes: number): Secret => new Secret(Buffer.from(deps.randomBytes(bytes)).toString("base64"));
    const token = secret(384);
    const redactor = createRedactor([secret(1_200), secret(48), secret(36), secret(24), token]);
    const text = sourceText(settings.program, megabytes * megabyte);
    const withSecrets = text.replaceAll(new RegExp(`[^]{${secretEvery}}`, "g"), `$&${token.reveal()}`);
    const perSecond = async (act: () => unknown, length = text.length): Promise<number> =>
      length / megabyte / ((await timed(act)) / 1_000);
    const measured = await alternate(
      {
        look: () => perSecond(() => lookAtEach(text)),
        whole: () => perSecond(() => redactor.redact(text)),
        exact: () => perSecond(() => redactor.redactExact(text)),
        stream: () => perSecond(() => redactInChunks(redactor, text)),
        full: () => perSecond(() => redactor.redact(withSecrets), withSecrets.length),
      },
      rounds,
      signal,
    );
    return [
      figure("one look at each character", "MB/s", measured.look),
      figure("redaction of text without secrets", "MB/s", measured.whole, goal),
      figure("of a prompt", "MB/s", measured.exact, goal),
      figure("of a stream", "MB/s", measured.stream, goal),
      figure("of text with a secret in each kilobyte", "MB/s", measured.full, goal),
    ];
  },
};

/** The project's own sources, over and over, flat in memory as text from a file is. */
function sourceText(program: string, length: number): string {
  const folder = join(program, "..", "..", "src", "gateway");
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const source = files.map((name) => readFileSync(join(folder, name), "latin1")).join("");
  return Buffer.from(source.repeat(Math.ceil(length / source.length)).slice(0, length)).toString("latin1");
}

function lookAtEach(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) sum += text.charCodeAt(at);
  return sum;
}

function redactInChunks(redactor: Redactor, text: string): number {
  const stream = redactor.stream();
  let length = 0;
  for (let at = 0; at < text.length; at += chunkLength) length += stream.write(text.slice(at, at + chunkLength)).length;
  return length + stream.end().length;
}
