import type { JsonValue } from "../../domain/index.ts";
import type { Fault, Faults } from "./faults.ts";
import type { createRouter } from "./router.ts";
import type { World } from "./world.ts";

/** One request as it was met. */
export type LoggedRequest = {
  readonly method: string;
  /** In GitHub's own notation, such as `POST /repos/{owner}/{repo}/pulls`; `unknown` where there is no such operation. */
  readonly route: string;
  readonly path: string;
  readonly atMs: number;
  readonly requestBody: unknown;
  /** Null: the connection was cut, or is held open. */
  readonly status: number | null;
  readonly answerBody: JsonValue | undefined;
  readonly fault: Fault["kind"] | null;
};

export type ServerDeps = {
  readonly world: World;
  readonly find: ReturnType<typeof createRouter>;
  readonly faults: Faults;
  readonly log: LoggedRequest[];
};
