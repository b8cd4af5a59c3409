/**
 * Every name that a span of ours may have (AUD-75). Names of conventions that may still change are copied here and not
 * imported, so that an upgrade of a library never renames what is stored; a test holds them against the version below.
 */
export const pinnedConventions = {
  /** OpenTelemetry semantic conventions: CICD and VCS (release candidates), GenAI (in development), error, server. */
  semanticConventions: "1.45.0",
} as const;

/** Name and version of the instrumentation scope; a change of our own names raises the version. */
export const traceScope = { name: "countersign.ledger", version: "1" } as const;

export type AttributeValue = string | number | readonly string[];
export type AttributeType = "string" | "int" | "strings";

export type SpanKindName = "SERVER" | "CLIENT" | "INTERNAL";

const common = { "countersign.run.id": "string" } as const;

const task = {
  "cicd.pipeline.task.name": "string",
  "cicd.pipeline.task.run.id": "string",
  "cicd.pipeline.task.run.result": "string",
} as const;

const usage = { "gen_ai.usage.input_tokens": "int", "gen_ai.usage.output_tokens": "int" } as const;
const genAi = { "gen_ai.operation.name": "string", "gen_ai.provider.name": "string" } as const;

/** The spans of AUD-68's tree: how each is named, of which kind it is, and all attributes that it may have. */
export const spanForms = {
  root: {
    name: /^RUN countersign$/,
    kind: "SERVER",
    attributes: {
      "cicd.pipeline.result": "string",
      "cicd.pipeline.action.name": "string",
      "error.type": "string",
      "countersign.issue.number": "int",
    },
  },
  resume: { name: /^resume$/, kind: "INTERNAL", attributes: { "countersign.run.attempt": "int" } },
  prepare: { name: /^prepare$/, kind: "INTERNAL", attributes: task },
  verify: { name: /^verify$/, kind: "INTERNAL", attributes: task },
  publish: { name: /^publish$/, kind: "INTERNAL", attributes: task },
  settle: { name: /^settle$/, kind: "INTERNAL", attributes: task },
  agent: {
    name: /^invoke_agent countersign$/,
    kind: "INTERNAL",
    attributes: { ...genAi, ...usage, "gen_ai.agent.name": "string", "gen_ai.agent.version": "string" },
  },
  chat: {
    name: /^chat( [\w.:/+=@-]+)?$/,
    kind: "CLIENT",
    attributes: {
      ...genAi,
      ...usage,
      "gen_ai.request.model": "string",
      "gen_ai.response.id": "string",
      "gen_ai.response.model": "string",
      "gen_ai.response.finish_reasons": "strings",
      "server.address": "string",
      "server.port": "int",
    },
  },
  action: {
    name: /^countersign\.action \w+$/,
    kind: "INTERNAL",
    attributes: {
      "countersign.action.id": "string",
      "countersign.action.state": "string",
      "countersign.risk": "string",
      "countersign.arguments.digest": "string",
      "countersign.outcome": "string",
      "countersign.ledger.index": "int",
    },
  },
  parse: { name: /^countersign\.parse$/, kind: "INTERNAL", attributes: { "countersign.refusal.code": "string" } },
  validate: { name: /^countersign\.validate$/, kind: "INTERNAL", attributes: { "countersign.refusal.code": "string" } },
  authorize: {
    name: /^countersign\.authorize$/,
    kind: "INTERNAL",
    attributes: {
      "countersign.decision.id": "string",
      "countersign.decision.effect": "string",
      "countersign.decision.policy_ids": "strings",
      "countersign.policy.digest": "string",
    },
  },
  approval: {
    name: /^countersign\.approval$/,
    kind: "INTERNAL",
    attributes: {
      "countersign.approval.id": "string",
      "countersign.approval.result": "string",
      "countersign.approval.channel": "string",
    },
  },
  tool: {
    name: /^execute_tool \w+$/,
    kind: "INTERNAL",
    attributes: {
      "gen_ai.operation.name": "string",
      "gen_ai.tool.name": "string",
      "gen_ai.tool.call.id": "string",
      "gen_ai.tool.type": "string",
      "countersign.try": "int",
      "error.type": "string",
    },
  },
  reconcile: {
    name: /^countersign\.reconcile$/,
    kind: "INTERNAL",
    attributes: {
      "countersign.try": "int",
      "countersign.reconcile.recipe": "string",
      "countersign.reconcile.round": "int",
      "countersign.reconcile.result": "string",
    },
  },
} as const satisfies Record<
  string,
  { readonly name: RegExp; readonly kind: SpanKindName; readonly attributes: Readonly<Record<string, AttributeType>> }
>;

/** What stands on every span. */
export const commonAttributes: Readonly<Record<string, AttributeType>> = common;

/** Of the resource that the spans of one run belong to; `OTEL_RESOURCE_ATTRIBUTES` may add others. */
export const resourceAttributes = {
  "service.name": "string",
  "service.version": "string",
  "cicd.pipeline.name": "string",
  "cicd.pipeline.run.id": "string",
  "cicd.pipeline.run.url.full": "string",
  "vcs.provider.name": "string",
  "vcs.owner.name": "string",
  "vcs.repository.name": "string",
  "vcs.ref.base.revision": "string",
  "vcs.ref.head.name": "string",
  "vcs.ref.head.revision": "string",
  "vcs.change.id": "string",
} as const satisfies Readonly<Record<string, AttributeType>>;

export type SpanForm = keyof typeof spanForms;
/** The attributes of one form of span; what is not known is left out. */
export type AttributesOf<Form extends SpanForm> = {
  readonly [Name in keyof (typeof spanForms)[Form]["attributes"]]?: AttributeValue | null | undefined;
};
export type ResourceAttributes = { readonly [Name in keyof typeof resourceAttributes]?: string };
