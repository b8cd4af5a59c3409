import type { ActionOutcome, RandomBytes } from "../domain/index.ts";
import type { RunBudget } from "./budget.ts";
import type { ModelClient, ModelEvent } from "./model.ts";
import type { PlacedCall, StoredResponse, Turn } from "./turn.ts";

/** `host_read` and `sandbox_read` run beside their like, never beside each other; `serial` runs alone (ACI-63). */
export type ToolPlace = "host_read" | "sandbox_read" | "serial";

/** All that the loop needs of the world. */
export type LoopDeps = {
  /** For the delimiters of what the tools answer (SEC-17). */
  readonly randomBytes: RandomBytes;
  readonly model: ModelClient;
  /** For the terminal and the trace; must not throw. */
  readonly onEvent: (event: ModelEvent) => void;
  readonly budget: RunBudget;
  /** The model's whole context in tokens, and what of it is kept free for its answer (ACI-83). */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** A tool that is not listed is taken as `serial`. */
  readonly toolPlaces: ReadonlyMap<string, ToolPlace>;
  /**
   * The gateway. A refusal is an outcome. It is asked again with the same place after an approval was decided, and must
   * then go on with the same action. Aborts come back as outcomes; what it throws ends the run.
   */
  readonly perform: (call: PlacedCall, signal: AbortSignal) => Promise<ActionOutcome>;
  /** Durable, sealed, before the first call of the turn is proposed. */
  readonly saveResponse: (stored: StoredResponse) => Promise<void>;
  /** Durable before the next model call; a waiting turn is saved again, under the same number, when it goes on. */
  readonly saveTurn: (turn: Turn) => Promise<void>;
  /** Of the checkout as it is now. */
  readonly treeFingerprint: () => Promise<string>;
  /** Whether the checkout differs from the base. */
  readonly hasChanges: () => Promise<boolean>;
};
