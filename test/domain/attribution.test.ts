import { describe, expect, it } from "vitest";
import { type ActionId, attribute, type FileChange, splitByAuthority } from "../../src/domain/index.ts";

const entry = (blobSha: string) => ({ mode: "100644", blobSha, sizeBytes: 1 }) as const;
const change = (path: string, before: string | null, after: string | null): FileChange => ({
  path,
  before: before === null ? null : entry(before),
  after: after === null ? null : { mode: "100644", blobSha: after, content: new Uint8Array([1]) },
});
const recorded = (...changes: readonly FileChange[]) =>
  changes.map((one, at) => ({ actionId: `action-${at}` as ActionId, changeSet: { changes: [one] } }));
const split = (readBack: readonly FileChange[], ...actions: readonly FileChange[]) => {
  const { authorized, leftOut } = splitByAuthority({ changes: readBack }, attribute(recorded(...actions)));
  return { authorized: authorized.changes.map(({ path }) => path), leftOut: leftOut.map(({ path }) => path) };
};

describe("a change that was read back", () => {
  it("counts where actions account for all of it, step by step from the base", () => {
    const steps = [change("a", "base", "1"), change("a", "1", "2"), change("b", null, "3"), change("c", "base", null)];

    expect(split([change("a", "base", "2"), change("b", null, "3"), change("c", "base", null)], ...steps)).toEqual({
      authorized: ["a", "b", "c"],
      leftOut: [],
    });
  });

  it("is left out where nobody, or another content, or another mode is on record (SEC-91, SEC-98)", () => {
    const executable = { ...change("b", "base", "1"), after: { ...change("b", "base", "1").after, mode: "100755" } };

    expect(split([change("a", "base", "1")]).leftOut).toEqual(["a"]);
    expect(split([change("a", "base", "1")], change("a", "base", "2")).leftOut).toEqual(["a"]);
    expect(split([executable as FileChange], change("b", "base", "1")).leftOut).toEqual(["b"]);
  });

  it("is left out where something else wrote the file before an action edited it", () => {
    expect(split([change("gen", null, "2")], change("gen", "tests-wrote-this", "2")).leftOut).toEqual(["gen"]);
    expect(split([change("a", "base", "3")], change("a", "base", "1"), change("a", "2", "3")).leftOut).toEqual(["a"]);
  });

  it("is put down to the last action that changed it", () => {
    const claims = attribute(recorded(change("a", "base", "1"), change("a", "1", "2")));

    expect(claims.get("a")?.actionId).toBe("action-1");
  });
});
