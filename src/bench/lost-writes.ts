import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Fault, type LocalGithub, startLocalGithub } from "../demo/index.ts";
import {
  type ActionOutcome,
  type FileChange,
  type JsonObject,
  newActionId,
  Secret,
  statesAtRest,
} from "../domain/index.ts";
import { type PassedChangeSet, passCommitGate, perform } from "../gateway/index.ts";
import { type GithubReader, type GithubWriter, openGithub } from "../github/index.ts";
import type { BenchPlace } from "./bench-place.ts";
import { type OpenedGateway, openGateway } from "./open-gateway.ts";
import { type StoryFacts, story } from "./write-story.ts";

/** What became of one write whose answer was lost after GitHub had done it. */
export type LostWrite = {
  readonly name: string;
  /** Requests with the effect that GitHub was sent. */
  readonly sentCount: number;
  /** Further ones of the thing that should stand once. */
  readonly duplicateCount: number;
  readonly isAtRest: boolean;
  readonly durationMs: number;
};

/** A gateway that writes to a local GitHub, and tells each write's story with its answer lost. */
type LostWrites = AsyncDisposable & { tell(round: number): Promise<readonly LostWrite[]> };

const repository = "acme/bench";

/** How the answer is lost; GitHub has done what was asked each time. Three times, as in C-1: nothing is to be sent again. */
const losses: readonly Fault[] = [
  { kind: "reset", when: "after" },
  { kind: "answer", when: "after", status: 500 },
  { kind: "broken_json" },
  { kind: "answer", when: "after", status: 502 },
];

export async function openLostWrites(place: BenchPlace, signal: AbortSignal): Promise<LostWrites> {
  await using undo = new AsyncDisposableStack();
  const gateway = undo.use(await openGateway(place, signal));
  const { keys } = await place.runs();
  let waitedMs = 0; // nothing is waited for: clocks of both sides go on instead
  const clock = (): number => place.deps.clock() + waitedMs;
  const { randomBytes, redactor } = place.deps;
  const local = undo.use(await startLocalGithub({ clock, randomBytes, folder: join(place.folder, "github") }));
  local.createAccount("acme", "Organization");
  const source = { kind: "git", folder: await place.repository() } as const;
  const { id: repositoryId } = await local.createRepository({ owner: "acme", name: "bench", source }, signal);
  const delay = (waitMs: number): Promise<void> => {
    waitedMs += waitMs;
    return Promise.resolve();
  };
  const github = openGithub(
    { clock, delay, redactor },
    {
      appId: local.app.id,
      privateKey: new Secret(local.app.privateKey),
      apiUrl: local.apiUrl,
      gitUrl: local.origin,
      markerKey: keys.markerKey,
      writeIntervalMs: 0,
    },
  );
  const at = { installationId: local.installationId(repository), repositoryId };
  const parts: Parts = { place, gateway, local, writer: github.writer(at), reader: github.reader(at) };
  const close = undo.move();
  return {
    tell: (round) => tellStory(parts, round, signal),
    [Symbol.asyncDispose]: () => close.disposeAsync(),
  };
}

type Parts = {
  readonly place: BenchPlace;
  readonly gateway: OpenedGateway;
  readonly local: LocalGithub;
  readonly writer: GithubWriter;
  readonly reader: GithubReader;
};

/** Each kind of write once, on a branch and an issue of its own. */
async function tellStory(parts: Parts, round: number, signal: AbortSignal): Promise<readonly LostWrite[]> {
  const { local, reader, gateway } = parts;
  const head = await reader.branch("main", signal);
  const base = await reader.commit(head?.sha ?? "", signal);
  const issue = await local.openIssue(repository, { title: `Round ${round}`, body: null, by: "acme" });
  local.createLabel(repository, "at-work");
  const { run } = gateway;
  const changes = [noteOf(round)];
  const publishing = { changeSet: await letThrough(parts, changes) };
  const branch = `countersign/issue-${issue}-${run.runId.slice(-8)}`;
  const context = { ...run, workspace: null, github: parts.writer, runBranch: branch, publishing };
  let facts: StoryFacts = { runId: run.runId, issue, branch, base, changes, comment: 0, pull: 0, headSha: "" };
  const told: LostWrite[] = [];
  for (const write of story) {
    const planned = local.fault({
      route: ({ route }) => write.effect.test(route),
      times: 3,
      fault: losses[round % losses.length] ?? { kind: "reset", when: "after" },
    });
    const before = local.requests.length;
    const startedAt = performance.now();
    const outcome = await propose(parts, context, { tool: write.tool, args: write.args(facts) }, signal);
    planned.cancel();
    if (planned.count() === 0) throw new Error(`no answer of ${write.name} was lost: nothing was measured`);
    facts = { ...facts, ...factsOf(outcome) };
    const standing = await write.standing(local.read, repository, facts);
    told.push({
      name: write.name,
      sentCount: local.requests.slice(before).filter(({ route }) => write.effect.test(route)).length,
      duplicateCount: Math.abs(standing - 1),
      isAtRest: statesAtRest.has(outcome.state) && outcome.status === "ok",
      durationMs: performance.now() - startedAt,
    });
  }
  return told;
}

function propose(
  { place, gateway }: Parts,
  context: OpenedGateway["run"] | (Omit<OpenedGateway["run"], "workspace"> & { readonly workspace: null }),
  { tool, args }: { readonly tool: string; readonly args: JsonObject },
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const proposed = {
    actionId: newActionId(place.deps),
    runId: context.runId,
    principal: { kind: "system" },
    tool,
    rawArguments: JSON.stringify(args),
    call: null,
    compensates: null,
  } as const;
  return perform(gateway.deps, context, proposed, signal);
}

/** What later writes of the story are about. */
function factsOf({ record }: ActionOutcome): Partial<StoryFacts> {
  const { pull_request: pull, comment_id: comment, commit_sha: headSha } = (record["result"] ?? {}) as JsonObject;
  return {
    ...(typeof pull === "number" ? { pull } : {}),
    ...(typeof comment === "number" ? { comment } : {}),
    ...(typeof headSha === "string" ? { headSha } : {}),
  };
}

function noteOf(round: number): FileChange {
  const content = Buffer.from(`note ${round}\n`);
  const blobSha = createHash("sha1").update(`blob ${content.byteLength}\0`).update(content).digest("hex");
  return { path: `notes/${round}.txt`, before: null, after: { mode: "100644", blobSha, content } };
}

async function letThrough({ place }: Parts, changes: readonly FileChange[]): Promise<PassedChangeSet> {
  const { redactor } = place.deps;
  const limits = { files: 10, lines: 100 };
  const readBase = (): Promise<null> => Promise.resolve(null);
  const answer = await passCommitGate(
    { redactor },
    { changeSet: { changes }, readBase, texts: [], limits, lineCount: 1 },
  );
  if (answer.kind === "refused") throw new Error(`the measured change is refused: ${answer.causes.join()}`);
  return answer.changeSet;
}
