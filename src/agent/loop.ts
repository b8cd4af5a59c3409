import { makeRoom } from "./context.ts";
import { type Conversation, toModelRequest, withTurn } from "./conversation.ts";
import type { LoopDeps } from "./loop-deps.ts";
import { takeTurn } from "./take-turn.ts";
import type { LoopEnd } from "./turn.ts";

/**
 * Works on a task until an end: asks the budget, asks the model, takes the turn, saves it. `opening` is a new conversation
 * or one made from saved turns; a turn that was begun is gone on with and its answer is not asked for again.
 * Throws the signal's reason promptly after an abort (ACI-71), `MODEL_*` where the server fails, and what the gateway throws.
 */
export async function runLoop(deps: LoopDeps, opening: Conversation, signal: AbortSignal): Promise<LoopEnd> {
  for (let conversation = opening; ; ) {
    signal.throwIfAborted();
    const budget = deps.budget.left(conversation); // asked before the call: a limit is not found out by passing it
    if (budget.kind === "exhausted") return { kind: "out_of_budget", limit: budget.limit };
    const ready = makeRoom(deps, conversation); // the same, or shortened under pressure
    if (ready === null) return { kind: "context_exhausted" };
    const response = ready.pending?.response ?? (await ask(deps, ready, signal));
    const turn = await takeTurn(deps, ready, response, signal); // stores the answer, then each call through the gateway, in order
    await deps.saveTurn(turn); // durable before the next call: recovery goes on from here
    if (turn.kind === "waiting") return { kind: "waiting", approvalId: turn.approvalId }; // no worker waits
    if (turn.kind === "ended") return turn.end;
    conversation = withTurn(ready, turn);
  }
}

function ask(deps: LoopDeps, conversation: Conversation, signal: AbortSignal) {
  return deps.model(toModelRequest(conversation, deps.maxOutputTokens), deps.onEvent, signal);
}
