import { randomBytes } from "node:crypto";
import { createOpenAiModel } from "../../src/agent/index.ts";
import { openService } from "../../src/app/index.ts";
import { createRedactor, Secret } from "../../src/domain/index.ts";
import type { ApartSettings } from "./github-service.ts";

/**
 * The service in a process of its own, to be killed. Its settings come as JSON on standard input; it tells by lines of
 * standard output: `ready <url>`, `ended <run>`, `trouble <line>`.
 */
const settings = JSON.parse(Buffer.concat(await process.stdin.toArray()).toString("utf8")) as ApartSettings;
const say = (line: string): void => void process.stdout.write(`${line.replaceAll("\n", " ")}\n`);
const delay = (): Promise<void> => Promise.resolve();
const { baseUrl, model } = settings.model;
const redactor = createRedactor([new Secret(settings.github.privateKey)]);
const stop = new AbortController();
process.on("SIGTERM", () => stop.abort(new Error("SIGTERM")));

await using service = await openService(
  { clock: Date.now, randomBytes, notice: (line) => say(`trouble ${line}`), redactor },
  {
    ...settings.plain,
    model: createOpenAiModel(
      { clock: Date.now, randomBytes, delay, redactor },
      { baseUrl, apiKey: null, model, silenceMs: 60_000 },
    ),
    modelName: model,
    github: {
      ...settings.github,
      privateKey: new Secret(settings.github.privateKey),
      webhookSecret: new Secret(settings.github.webhookSecret),
      webhookSecretPrevious: null,
    },
  },
  {
    onEvent: (event) => {
      if (event.kind === "ended") say(`ended ${event.runId}`);
      if (event.kind === "phase") say(`phase ${event.phase}`);
    },
    onTrouble: (line, error) => say(`trouble ${line}: ${String((error as Error).stack)}`),
  },
  stop.signal,
);
say(`ready ${service.webhookUrl}`);
const holdOpen = setInterval(() => undefined, 1_000);
await new Promise<void>((done) => stop.signal.addEventListener("abort", () => done()));
clearInterval(holdOpen);
