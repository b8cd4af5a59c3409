import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";
import { createOpenAiModel, defaultSilenceMs } from "../agent/index.ts";
import { openService } from "../app/index.ts";
import { createRedactor, Secret } from "../domain/index.ts";
import { letGo, readPlan, say } from "./child-plan.ts";
import type { ServicePlan } from "./receivers.ts";

const { app, model, ...plan } = readPlan<ServicePlan>();
const clock = (): number => Date.now();
const delay = (waitMs: number, signal: AbortSignal): Promise<void> => setTimeout(waitMs, undefined, { signal });
const notice = (line: string): void => void process.stderr.write(`${line}\n`);
const modelSettings = { baseUrl: model.baseUrl, apiKey: null, model: model.name, silenceMs: defaultSilenceMs };
const redactor = createRedactor([new Secret(app.privateKey), new Secret(app.webhookSecret)]);
const stopped = letGo();
const service = await openService(
  { clock, randomBytes, notice, redactor },
  {
    ...plan,
    model: createOpenAiModel({ clock, randomBytes, delay, redactor }, modelSettings),
    modelName: model.name,
    searchPath: null,
    github: {
      appId: app.id,
      privateKey: new Secret(app.privateKey),
      webhookSecret: new Secret(app.webhookSecret),
      webhookSecretPrevious: null,
      apiUrl: app.apiUrl,
      gitUrl: app.gitUrl,
    },
    port: 0,
    host: "127.0.0.1",
    publicUrl: null,
  },
  {
    onEvent: (event) => {
      if (event.kind === "ended") say({ conclusion: event.conclusion });
    },
    onTrouble: (line, error) => notice(`${line}: ${inspect(error)}`),
  },
  stopped,
);
say({ port: service.port });
if (!stopped.aborted) await once(stopped, "abort");
await service[Symbol.asyncDispose]();
