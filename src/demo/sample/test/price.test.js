import assert from "node:assert/strict";
import { test } from "node:test";
import { toMinutes, toTime } from "../src/clock.js";
import { formatCents, priceOf } from "../src/price.js";

test("counts each started quarter of an hour", () => {
  assert.equal(priceOf(60, 3000), 3000);
  assert.equal(priceOf(61, 3000), 3750);
});

test("writes cents with two decimals", () => {
  assert.equal(formatCents(1205), "12.05");
  assert.equal(formatCents(-5), "-0.05");
});

test("reads and writes times of day", () => {
  assert.equal(toMinutes("09:30"), 570);
  assert.equal(toTime(570), "09:30");
  assert.throws(() => toMinutes("24:00"), RangeError);
});
