/**
 * Puts the rooms together: what is on record, what runs are done with, and the examination of each part.
 * Door: `openRecords`, `openRuns`, `openPublishing`, `openService`, `examine`, `registerApp`.
 * Never: reads the environment, or decides anything.
 */
export { type AppManifest, readAppManifest } from "./app-manifest.ts";
export { type ExamineSettings, examine } from "./examine.ts";
export { type Check, checkApp, checkWebhook, requirePermissions } from "./examine-github.ts";
export { openPublishing } from "./open-publishing.ts";
export { openRecords, openRuns, type Records } from "./open-runs.ts";
export { openService, type Service, type ServiceHooks, type ServiceSettings } from "./open-service.ts";
export { readArguments } from "./read-arguments.ts";
export { type RegisterDeps, type RegisterSettings, type Registration, registerApp } from "./register.ts";
export type { CountersignDeps, CountersignSettings } from "./settings.ts";
export { verifyRecords } from "./verify-records.ts";
