import { expect, it } from "vitest";
import { createRedactor, Secret } from "../../src/domain/index.ts";
import { failureOf } from "../../src/github/failure.ts";

const secret = ["planted", "canary", "value"].join("-");
const deps = { clock: () => 0, redactor: createRedactor([new Secret(secret)]) };
const request = { method: "GET", route: "/repos/{owner}/{repo}" } as const;

it("GitHub's own words are cut after secrets were taken out of them: no half of one is in a message (SEC-100)", () => {
  const refused = (message: string): string =>
    failureOf(deps, request, { kind: "answered", status: 422, headers: {}, body: { message } }).message;

  for (let before = 270; before <= 310; before += 1) {
    const message = refused(`${"x".repeat(before)} ${secret} ${"y".repeat(100)}`);
    expect(message).toContain("x".repeat(200));
    expect(message).not.toMatch(/plan|yyyyy{50}/);
  }
});
