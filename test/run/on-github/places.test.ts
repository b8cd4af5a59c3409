import { expect, it } from "vitest";
import { createPlaces } from "../../../src/run/on-github/places.ts";

const [one, other, third] = [1, 2, 3] as const;

it("never gives all places to one installation, where there is more than one", () => {
  const places = createPlaces(3, 4);

  expect(places.take(one)).not.toBeNull();
  expect(places.take(one)).not.toBeNull();
  expect(places.take(one)).toBeNull();
  expect(places.take(other)).not.toBeNull();
});

it("gives an installation no more than it may have at once", () => {
  const places = createPlaces(8, 1);

  expect(places.take(one)).not.toBeNull();
  expect(places.take(one)).toBeNull();
  expect(places.take(other)).not.toBeNull();
});

it("gives out no more than there are, and a place again once it is free", () => {
  const places = createPlaces(2, 1);
  const held = places.take(one);
  places.take(other);

  expect(places.take(third)).toBeNull();
  held?.[Symbol.dispose]();
  expect(places.take(third)).not.toBeNull();
  expect(places.take(one)).toBeNull();
});

it("gives the only place to whoever comes first", () => {
  const places = createPlaces(1, 4);

  expect(places.take(one)).not.toBeNull();
  expect(places.take(other)).toBeNull();
});
