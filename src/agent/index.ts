/**
 * Proposing: lets a model work on a task, turn by turn, until it finishes, a limit is reached or it goes in circles.
 * Door: `runLoop` over a `Conversation`; `createOpenAiModel`, the one model client; `createBudget`; the prompt, and
 * `untrusted`, by which alone the words of others get into it.
 * Never: executes, decides or records anything. Each tool call goes through the `perform` it is given, and what the model
 * says counts nowhere until the gateway has recorded it.
 */
export { type BudgetAnswer, createBudget, type RunBudget } from "./budget.ts";
export {
  type Conversation,
  nothingUsed,
  openConversation,
  toModelRequest,
  type Used,
  usedAfter,
  withTurn,
} from "./conversation.ts";
export { delay } from "./delay.ts";
export { runLoop } from "./loop.ts";
export type { LoopDeps, ToolPlace } from "./loop-deps.ts";
export type {
  AssistantMessage,
  FinishReason,
  Message,
  ModelClient,
  ModelEvent,
  ModelRequest,
  ModelResponse,
  ToolCall,
  ToolDefinition,
  ToolMessage,
  Usage,
} from "./model.ts";
export { createOpenAiModel, defaultSilenceMs, type OpenAiModelDeps, type OpenAiModelOptions } from "./openai-model.ts";
export { openingMessages, systemText, type Task } from "./prompt.ts";
export {
  type CallResult,
  type Limit,
  type LoopEnd,
  type PlacedCall,
  type StoredResponse,
  stopReasonOf,
  type Turn,
} from "./turn.ts";
export {
  type RemovedCounts,
  type UnreadableText,
  type UntrustedText,
  untrusted,
  type WrittenOrigin,
} from "./untrusted-text.ts";
