import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Size } from "./figure.ts";

/** What of a measurement is finished: a soak that was stopped goes on where it was (`audit.md` §12). */
export type Progress = {
  /** The value of a part by its name: as an earlier soak left it, else measured now and kept. It is plain JSON. */
  readonly part: <Value>(name: string, measure: () => Promise<Value>) => Promise<Value>;
  /** How many parts an earlier soak had finished. */
  readonly resumedParts: number;
  /** Once everything asked for is finished: the next soak begins anew. */
  readonly forget: () => Promise<void>;
};

/** One line of JSON a part; kept beside the folder of the measurements, which each start makes anew. */
export const soakFile = (home: string): string => join(home, "bench-soak.jsonl");

/** In the smaller sizes nothing is kept. Throws what the file system throws. */
export async function openProgress(home: string, size: Size): Promise<Progress> {
  if (size !== "soak") return { part: (_, measure) => measure(), resumedParts: 0, forget: () => Promise.resolve() };
  const path = soakFile(home);
  const finished = new Map(await readFinished(path));
  return {
    part: async <Value>(name: string, measure: () => Promise<Value>): Promise<Value> => {
      if (finished.has(name)) return finished.get(name) as Value;
      const value = await measure();
      await appendFile(path, `\n${JSON.stringify({ name, value })}\n`); // a line that was cut off ends here
      finished.set(name, value);
      return value;
    },
    resumedParts: finished.size,
    forget: () => rm(path, { force: true }),
  };
}

async function readFinished(path: string): Promise<readonly (readonly [string, unknown])[]> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text.split("\n").flatMap((line) => {
    try {
      const { name, value } = JSON.parse(line) as { readonly name: string; readonly value: unknown };
      return [[name, value] as const];
    } catch {
      return []; // empty, or its writer was stopped in the middle of it
    }
  });
}
