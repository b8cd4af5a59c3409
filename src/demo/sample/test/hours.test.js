import assert from "node:assert/strict";
import { test } from "node:test";
import { fitsInto, isOpenAt, nextOpening } from "../src/hours.js";

const hours = [
  { from: "09:00", to: "12:30" },
  { from: "14:00", to: "18:00" },
];

test("is open from the first minute and closed at the last", () => {
  assert.equal(isOpenAt(hours, "09:00"), true);
  assert.equal(isOpenAt(hours, "12:29"), true);
  assert.equal(isOpenAt(hours, "12:30"), false);
});

test("a booking may end in the minute in which the shop closes", () => {
  assert.equal(fitsInto(hours, "17:00", 60), true);
});

test("a booking may not reach into the break", () => {
  assert.equal(fitsInto(hours, "12:00", 45), false);
});

test("names the next opening of the day", () => {
  assert.equal(nextOpening(hours, "12:45"), "14:00");
  assert.equal(nextOpening(hours, "18:00"), null);
});
