/**
 * Puts the rooms together: what is on record, what runs are done with, and the examination of each part.
 * Door: `openRecords`, `openRuns`, `openPublishing`, `openService`, `examine`, `registerApp`: each is loaded, with the rooms below,
 * by who calls it.
 * Never: reads the environment, or decides anything.
 */
import { late } from "../domain/index.ts";

export type { AppManifest } from "./app-manifest.ts";
export type { ExamineSettings } from "./examine.ts";
export type { Check } from "./examine-github.ts";
export type { Records } from "./open-records.ts";
export type { Service, ServiceHooks, ServiceSettings } from "./open-service.ts";
export type { RegisterDeps, RegisterSettings, Registration } from "./register.ts";
export type { CountersignDeps, CountersignSettings } from "./settings.ts";

export const examine = late(async () => (await import("./examine.ts")).examine);
export const openPublishing = late(async () => (await import("./open-publishing.ts")).openPublishing);
export const openRecords = late(async () => (await import("./open-records.ts")).openRecords);
export const openRuns = late(async () => (await import("./open-runs.ts")).openRuns);
export const openService = late(async () => (await import("./open-service.ts")).openService);
export const readAppManifest = late(async () => (await import("./app-manifest.ts")).readAppManifest);
export const readArguments = late(async () => (await import("./read-arguments.ts")).readArguments);
export const registerApp = late(async () => (await import("./register.ts")).registerApp);
export const verifyRecords = late(async () => (await import("./verify-records.ts")).verifyRecords);
