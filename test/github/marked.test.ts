import { expect, it } from "vitest";
import { withoutMarkers } from "../../src/github/recipes/marked.ts";

const marker = (id: string): string => `<!-- countersign:${id}:0123456789abcdef0123456789abcdef -->`;

it.each([
  [`text\n\n${marker("a")}`, "text"],
  [`text\n\n${marker("a")}\n${marker("b:2")}\n`, "text"],
  [`text\r\n\r\n${marker("a")}\r\n${marker("b:2")}\r\n`, "text"],
  [`${marker("a")}\n\nquoted above\n\n${marker("b")}`, `${marker("a")}\n\nquoted above`],
  [marker("a"), ""],
  ["no marker\n\n", "no marker\n\n"],
  ["", ""],
])("what stands above the markers of `%j` is `%j`", (text, above) => {
  expect(withoutMarkers(text)).toBe(above);
});

it("costs little in a text of blank lines, which anyone who may edit it can write", () => {
  const from = process.cpuUsage();
  expect(withoutMarkers(`${"\n".repeat(60_000)}.`)).toHaveLength(60_001);
  const { user, system } = process.cpuUsage(from);

  expect((user + system) / 1000).toBeLessThan(500);
});
