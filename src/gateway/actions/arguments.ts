import { z } from "zod";

/** A field that strict modes want present and nullable; left out, it is null (ACI-16). */
export const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null as never);

export const path = z.string().min(1).max(4_096);
export const lineNumber = z.number().int().min(1).max(1_000_000_000);

/** Numbers and ids that GitHub gives. */
export const githubNumber = z.number().int().min(1);
export const revision = z.number().int().min(1);
export const branch = z.string().min(1).max(255);
/** An object id of git: SHA-1 or SHA-256. */
export const objectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
/** A text that GitHub shows; longer ones were to be cut before (GH-105). */
export const publishedText = z.string().max(65_536);
export const publishedTitle = z.string().min(1).max(256);
export const label = z.string().min(1).max(100);
