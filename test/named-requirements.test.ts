import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

function from(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** The requirements of the security page; gaps in the numbering are for later. */
const security = [
  ...[1, 2, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 30, 31, 32, 33, 34, 35, 40, 41, 42, 43, 44, 45, 46, 47],
  ...[50, 51, 52, 53, 55, 56, 57, 58, 59, 60, 61, 62, 63, 65, 66, 67, 68, 69, 70, 72, 73, 75, 76, 77, 78, 79, 80, 81],
  ...[82, 85, 86, 87, 88, 89, 90, 91, 92, 95, 96, 97, 98, 99, 100, 101, 102, 103, 110, 111, 112, 113, 114, 115, 116],
  ...[117, 118, 119, 125, 126, 130, 131, 132, 133],
].map((number) => `SEC-${number}`);
/** Of the audit page: the action's record, arguments, policy, approvals, failures of the log, effects; and the operator's settings. */
const audit = [...from(1, 39), ...from(52, 67), 90].map((number) => `AUD-${number}`);
const cases = ["C-1", "C-5", "C-7", "C-8", "C-10"];
const attacks = Array.from({ length: 37 }, (_, at) => `AT-${at + 1}`);

const tests = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && path !== "named-requirements.test.ts")
  .map((path) => readFileSync(join(import.meta.dirname, path), "utf8"))
  .join("\n");
const page = readFileSync(join(import.meta.dirname, "../docs/threat-model.md"), "utf8");
const isNamed = (id: string): boolean => new RegExp(`\\b${id}\\b`).test(tests);

describe("each requirement and each attack of the design", () => {
  it.each([...security, ...attacks])("%s is named by a test, or the threat model says how it is met", (id) => {
    expect(isNamed(id) || page.includes(`**${id}**`)).toBe(true);
  });

  it.each([...audit, ...cases])("%s of the audit page is named by a test", (id) => {
    expect(isNamed(id)).toBe(true);
  });

  it("stands in the threat model's list only where no test names it", () => {
    const listed = [...page.matchAll(/\*\*((?:SEC|AT)-\d+)\*\*/g)].map(([, id = ""]) => id);

    expect(listed.filter((id) => isNamed(id))).toEqual([]);
    expect(listed.length).toBeGreaterThan(10);
  });
});
