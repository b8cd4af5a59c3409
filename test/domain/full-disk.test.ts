import { expect, it } from "vitest";
import { isFullDisk } from "../../src/domain/index.ts";

it.each([
  [Object.assign(new Error("no space"), { code: "ENOSPC" }), true],
  [Object.assign(new Error("over quota"), { code: "EDQUOT" }), true],
  [Object.assign(new Error("i/o"), { code: "EIO" }), false],
  [new Error("ENOSPC"), false],
  ["ENOSPC", false],
  [null, false],
])("tells a full disk by the system's code alone: %s", (error, expected) => {
  expect(isFullDisk(error)).toBe(expected);
});
