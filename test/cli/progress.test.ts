import { describe, expect, it } from "vitest";
import { createProgress } from "../../src/cli/progress.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { createRedactor } from "../../src/domain/index.ts";
import type { RunEvent } from "../../src/run/index.ts";
import { aDecision, anOutcome, aReport } from "../support/outcomes.ts";

/** All that is written to standard error for these events. */
function shown(events: readonly RunEvent[], change: Partial<Terminal> = {}): string {
  let text = "";
  let now = 0;
  const terminal: Terminal = {
    out: () => {
      throw new Error("progress is nothing for standard output");
    },
    err: (more) => {
      text += more;
    },
    isLive: false,
    redact: createRedactor([]).redact,
    isOutTerminal: false,
    columns: 80,
    readAll: () => Promise.resolve(new Uint8Array()),
    ask: null,
    ...change,
  };
  const clock = (): number => {
    now += 1500;
    return now;
  };
  const progress = createProgress(terminal, clock);
  for (const event of events) progress(event);
  return text;
}

const refusal = {
  code: "policy_denied",
  received: "",
  allowed: "",
  remedy: "",
  example: null,
  attachment: "",
} as const;
const denied = anOutcome({
  tool: "delete_file",
  state: "denied",
  status: "refused",
  refusal,
  decision: aDecision({ effect: "deny", policyIds: ["floor:git_folder"] }),
});
const thinking: readonly RunEvent[] = [
  { kind: "model", event: { kind: "started", attempt: 1 } },
  { kind: "model", event: { kind: "text", text: "\x1b[31msecret plan" } },
];

describe("the progress of a run", () => {
  it("is one plain line for each phase and action where nobody watches a terminal", () => {
    const lines = shown([{ kind: "phase", phase: "work" }, { kind: "action", outcome: anOutcome() }, ...thinking]);

    expect(lines).toBe("-- work\n   read_file          allow   ok         12 ms\n");
  });

  it("tells who denied an action", () => {
    expect(shown([{ kind: "action", outcome: denied }])).toBe(
      "   delete_file        deny    denied     12 ms  policy_denied: floor:git_folder\n",
    );
  });

  it("tells where an answer of the model broke off", () => {
    const discarded = { kind: "discarded", reason: "cut", waitMs: 5 } as const;

    expect(shown([{ kind: "model", event: discarded }])).toBe("   the model's answer broke off (cut); asking again\n");
  });

  it("names some of the changes that are left out, and how many more there are", () => {
    const uncommitted = ["a", "b", "c", "d", "e", "f", "g"];
    const { runId, traceId } = aReport();
    const repository = { id: "local:0", name: "shop" };

    const lines = shown([{ kind: "started", runId, traceId, repository, baseSha: "0123456789abcdef", uncommitted }]);

    expect(lines.split("\n")).toEqual([
      `run ${runId} on shop at 0123456789ab`,
      "   uncommitted changes are left out: a, b, c, d, e and 2 more",
      "",
    ]);
  });

  it("shows no control character of a tool's name that the model made up", () => {
    expect(shown([{ kind: "action", outcome: anOutcome({ tool: "\x1b[2Jls\n-- settle" }) }])).toContain(
      "\\u{1B}[2Jls\\n-- settle",
    );
  });
});

describe("the progress on a live terminal", () => {
  it("redraws one line while the model answers, without its words, and clears it for the next line", () => {
    const text = shown([...thinking, { kind: "phase", phase: "settle" }], { isLive: true });

    expect(text).toBe("   the model is answering, 1.5 s\r\x1b[2K   the model is answering, 3.0 s\r\x1b[2K-- settle\n");
  });

  it("never draws more than fits into a line", () => {
    expect(shown(thinking.slice(0, 1), { isLive: true, columns: 10 })).toBe("   the mod".slice(0, 9));
  });

  it("leaves no line behind at the end", () => {
    expect(shown([...thinking, { kind: "completed", report: aReport() }], { isLive: true })).toSatisfy((text: string) =>
      text.endsWith("\r\x1b[2K"),
    );
  });
});
