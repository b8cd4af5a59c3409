import {
  delay,
  type ModelClient,
  openConversation,
  openingMessages,
  toModelRequest,
  untrusted,
} from "../agent/index.ts";
import { CountersignError, type JsonObject } from "../domain/index.ts";
import { createCatalogue } from "../gateway/index.ts";
import { type AppWebhook, type GithubSettings, openGithub, readAppWebhook } from "../github/index.ts";
import { verifyStored } from "../ledger/index.ts";
import { loadOperatorSettings } from "../policy/index.ts";
import { readKillSwitch, refuseForeignHome } from "../store/index.ts";
import { probeSandbox, type SandboxCheck } from "../workspace/index.ts";
import type { AppManifest } from "./app-manifest.ts";
import { type Check, checkApp, checkWebhook } from "./examine-github.ts";
import { checkSetupHosts } from "./examine-setup.ts";
import { openRecords, type Records } from "./open-records.ts";
import { loadPolicySet } from "./open-runs.ts";
import type { CountersignDeps, CountersignSettings } from "./settings.ts";
import { probeOptionsOf, workspaceDepsOf } from "./workspace-hands.ts";

export type ExamineSettings = CountersignSettings & {
  /** Rejects with `CONFIG_INVALID` where no model is configured. */
  readonly createModel: () => Promise<{ readonly model: ModelClient; readonly modelName: string }>;
  readonly github: {
    /** Whether anything of GitHub's side is set or stored. */
    readonly isConfigured: boolean;
    /** Throws `CONFIG_INVALID` where it is not, or wrongly. */
    readonly settings: () => Omit<GithubSettings, "markerKey">;
    readonly manifest: () => Promise<AppManifest>;
  };
};

type Part = "sandbox" | "model" | "github";

/** Tries the parts named, each for real, one after another: a part that fails keeps no other from being tried. */
export async function examine(
  deps: CountersignDeps,
  settings: ExamineSettings,
  parts: ReadonlySet<"all" | Part>,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  await refuseForeignHome(settings.home); // the probes make folders there
  const isAsked = (part: Part): boolean => parts.has(part) || parts.has("all");
  const checks: Check[] = [];
  if (parts.has("all")) {
    checks.push(await tryPart("runtime", () => Promise.resolve(`Node.js ${process.versions.node}`)));
    checks.push(await tryPart("policies", () => tryPolicies(deps, settings)));
    checks.push(...(await tryRecords(deps, settings, signal)));
  }
  if (isAsked("sandbox")) checks.push(...(await trySandbox(deps, settings, signal)));
  if (isAsked("model")) checks.push(await tryPart("model", () => tryModel(deps, settings, signal)));
  if (isAsked("github")) checks.push(...(await tryGithub(deps, settings, parts.has("github"), signal)));
  return checks;
}

/** A part as a check: what it says where it works, else the error's one line and its remedy. */
async function tryPart(name: string, attempt: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await attempt(), remedy: "" };
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    return { name, ok: false, detail: `${error.message} [${error.code}]`, remedy: error.remedy };
  }
}

async function tryPolicies(deps: CountersignDeps, settings: CountersignSettings): Promise<string> {
  await loadOperatorSettings(settings.policiesFolder);
  const policies = await loadPolicySet(deps, settings, createCatalogue());
  return `${policies.policyIds.length} policies in ${settings.policiesFolder}, ${policies.engineVersion}`;
}

/** The kill switch stands in the database: it is shown wherever that could be opened (SEC-5). */
async function tryRecords(
  deps: CountersignDeps,
  settings: CountersignSettings,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const more: Check[] = [];
  const opened = await tryPart("database and ledger", async () => {
    await using records = await openRecords(deps, settings, signal);
    more.push(await tryPart("kill switch", () => killSwitchText(records)));
    return await verifiedText(records);
  });
  return [opened, ...more];
}

async function verifiedText(records: Records): Promise<string> {
  const { ok, size, findings } = await verifyStored(records);
  if (!ok) {
    const [first] = findings;
    throw new CountersignError("LEDGER_BROKEN", `the ledger does not verify: ${first?.code} at ${first?.index ?? "-"}`);
  }
  const kind = records.store.kind === "embedded" ? "embedded, meant for trial and small set-ups" : "external";
  return `PostgreSQL at ${records.store.address} (${kind}); ${size} entries verify`;
}

/** Paused is no fault: the operator wants it so. */
async function killSwitchText({ store }: Records): Promise<string> {
  const { isPaused, since } = await readKillSwitch(store.db);
  return isPaused ? `PAUSED since ${since}: nothing starts until \`countersign resume\`` : "off";
}

/** Without the App only `serve` can't work: that is no fault unless it was asked for. */
async function tryGithub(
  deps: CountersignDeps,
  { github: { isConfigured, settings, manifest } }: ExamineSettings,
  isNamed: boolean,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  if (!isConfigured && !isNamed) {
    return [{ name: "github", ok: true, detail: "not configured: only `serve` needs it", remedy: "" }];
  }
  const more: Check[] = [];
  const githubDeps = { clock: deps.clock, delay, redactor: deps.redactor };
  const app = await tryPart("github app", async () => {
    const facts = await openGithub(githubDeps, { ...settings(), markerKey: deps.randomBytes(32) }).app(signal);
    more.push(...checkApp(facts, await manifest()));
    more.push(await tryWebhook(() => readAppWebhook(githubDeps, settings(), signal)));
    return `App ${facts.id}, \`${facts.name}\`, writes as \`${facts.botLogin}\``;
  });
  return [app, ...more];
}

async function tryWebhook(read: () => Promise<AppWebhook>): Promise<Check> {
  let found: AppWebhook | null = null;
  const asked = await tryPart("github webhook", async () => {
    found = await read();
    return "";
  });
  return found === null ? asked : checkWebhook(found);
}

async function trySandbox(
  deps: CountersignDeps,
  settings: CountersignSettings,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const workspaceDeps = workspaceDepsOf(deps, settings);
  const checks: SandboxCheck[] = [];
  const prepared = await tryPart("sandbox", async () => {
    const operator = await loadOperatorSettings(settings.policiesFolder);
    const options = await probeOptionsOf(deps, settings, operator);
    checks.push(...(await probeSandbox(workspaceDeps, { ...options, part: "everything" }, signal)));
    checks.push(await checkSetupHosts(workspaceDeps, settings, operator.setup, signal));
    return "";
  });
  return prepared.ok ? checks : [prepared];
}

const probeTool = {
  name: "report",
  description: "Report one word.",
  parameters: {
    type: "object",
    properties: { word: { type: "string" } },
    required: ["word"],
    additionalProperties: false,
  } as JsonObject,
};

/** One real completion that must come back as a tool call: without tool calls there is no work. */
async function tryModel(deps: CountersignDeps, settings: ExamineSettings, signal: AbortSignal): Promise<string> {
  const { model, modelName } = await settings.createModel();
  const ours = (text: string) => untrusted(text, { kind: "settings" });
  const body = ours("Call the tool `report` with the word `ready`. Do nothing else.");
  const opening = openingMessages(deps, { title: ours("A trial"), body, request: null, verifyCommand: null });
  const request = toModelRequest(openConversation([probeTool], opening), 1024);
  const answer = await model(request, () => undefined, signal);
  if (answer.toolCalls.length === 0) {
    throw new CountersignError("MODEL_REJECTED", `\`${modelName}\` answered without a tool call`, {
      remedy: "take a model and a server that can call tools, or switch tool calls on in the server",
    });
  }
  return `${modelName} answers with tool calls (${answer.usage.inputTokens} tokens in, ${answer.usage.outputTokens} out)`;
}
