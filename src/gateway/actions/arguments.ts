import { z } from "zod";

/** A field that strict modes want present and nullable; left out, it is null (ACI-16). */
export const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().default(null as never);

export const path = z.string().min(1).max(4_096);
export const lineNumber = z.number().int().min(1).max(1_000_000_000);
