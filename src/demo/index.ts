/**
 * The stand-ins for a trial without accounts: a scripted model that speaks the real chat completions protocol, a local GitHub
 * with its API, git and webhooks, and a small sample repository with a bug to fix. Nothing of the product is different when
 * they are used.
 * Door: `openDemo`, the whole demonstration; `startScriptedModel` and `startLocalGithub` (each listens on 127.0.0.1), `writeSampleRepository` and `commitOnce` (a git
 * repository with one commit).
 * Never: knows a path, a line or a fix beforehand; the model derives all of them from the tool results that it is sent.
 */
export type { Demo, DemoEvent, DemoRequest, KeptRecord } from "./demo-result.ts";
export type { Fault, FaultPlan, PlannedFault } from "./local-github/faults.ts";
export type { HookDelivery, HookTarget } from "./local-github/hook.ts";
export { type LocalGithub, type LocalGithubOptions, startLocalGithub } from "./local-github/local-github.ts";
export type { ItemPlace } from "./local-github/people-items.ts";
export type { RepositorySource } from "./local-github/people-repositories.ts";
export type { LoggedRequest } from "./local-github/request-log.ts";
export { commitOnce } from "./one-commit.ts";
export { type DemoCountersign, type DemoDeps, openDemo } from "./run-demo.ts";
export { type SampleRepository, writeSampleRepository } from "./sample-repository.ts";
export { type ScriptedModel, startScriptedModel } from "./scripted-model.ts";
