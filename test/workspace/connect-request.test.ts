import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isHostName } from "../../src/domain/index.ts";
import { readConnectRequest } from "../../src/workspace/connect-request.ts";

const request = (line: string, ...fields: readonly string[]) => readConnectRequest([line, ...fields].join("\r\n"));
const cause = (line: string, ...fields: readonly string[]) => {
  const read = request(line, ...fields);
  return read.kind === "refused" ? read.cause : "led on";
};

describe("a request to setup's proxy (SEC-67)", () => {
  it("names a host to connect to at port 443", () => {
    expect(request("CONNECT Registry.Example:443 HTTP/1.1", "Host: other.example:443", "User-Agent: npm/12")).toEqual({
      kind: "connect",
      host: "registry.example",
    });
  });

  it.each([
    ["GET http://a.example/ HTTP/1.1", "not_connect"],
    ["POST http://a.example/ HTTP/1.1", "not_connect"],
    ["CONNECT a.example:80 HTTP/1.1", "not_port_443"],
    ["CONNECT a.example:44 HTTP/1.1", "not_port_443"],
    ["CONNECT a.example:00443 HTTP/1.1", "not_port_443"],
    ["CONNECT 127.0.0.1:443 HTTP/1.1", "ip_literal"],
    ["CONNECT 8.8.8.8:443 HTTP/1.1", "ip_literal"],
    ["CONNECT [::1]:443 HTTP/1.1", "ip_literal"],
    ["CONNECT [::ffff:8.8.8.8]:443 HTTP/1.1", "ip_literal"],
    ["CONNECT 2130706433:443 HTTP/1.1", "ip_literal"],
    ["CONNECT 0x7f000001:443 HTTP/1.1", "ip_literal"],
    ["CONNECT 127.1:443 HTTP/1.1", "ip_literal"],
    ["CONNECT 0x7f.0.0.1.:443 HTTP/1.1", "ip_literal"],
    ["CONNECT ::1:443 HTTP/1.1", "malformed"],
    ["CONNECT a.example HTTP/1.1", "malformed"],
    ["CONNECT a.example.:443 HTTP/1.1", "malformed"],
    ["CONNECT user@a.example:443 HTTP/1.1", "malformed"],
    ["CONNECT a.example:443:443 HTTP/1.1", "malformed"],
    ["CONNECT https://a.example:443 HTTP/1.1", "malformed"],
    ["CONNECT a.example:443/ HTTP/1.1", "malformed"],
    ["CONNECT  a.example:443 HTTP/1.1", "malformed"],
    ["CONNECT a.example:443 HTTP/2.0", "malformed"],
    ["connect a.example:443 HTTP/1.1", "malformed"],
    ["CONNECT a.example:443 HTTP/1.1\nX: y", "malformed"],
    ["CONNECT a.ex\u0000ample:443 HTTP/1.1", "malformed"],
    ["CONNECT ä.example:443 HTTP/1.1", "malformed"],
    ["", "malformed"],
  ])("is refused as %j: %s", (line, expected) => {
    expect(cause(line)).toBe(expected);
  });

  it.each([" folded", "no colon", "Na me: value", "Name: a\u0001b", "Name: a\nb", ": empty"])(
    "is refused with the field %j",
    (field) => {
      expect(cause("CONNECT a.example:443 HTTP/1.1", "Host: a.example", field)).toBe("malformed");
    },
  );

  it("is led on for nothing but `CONNECT name:443`, however it is written", () => {
    const piece = fc.constantFrom(
      ..."CONNECT GET HTTP/1.1 HTTP/1.0 : :443 443 : . \r\n \n \r \t \0 @ [ ] / a.example 127.0.0.1 ::1 Host:".split(
        " ",
      ),
      " ",
      "\r\n\r\n",
    );
    const head = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
      fc.array(piece, { maxLength: 3 }).map((pieces) => `CONNECT a.example:443 HTTP/1.1${pieces.join("")}`),
      fc.array(piece, { maxLength: 3 }).map((pieces) => `CONNECT ${pieces.join("")}a.example:443 HTTP/1.1`),
    );
    fc.assert(
      fc.property(head, (text) => {
        const read = readConnectRequest(text);
        const [line = ""] = text.split("\r\n");

        for (const host of read.kind === "connect" ? [read.host] : []) {
          expect(line.toLowerCase()).toMatch(/^connect [a-z0-9._-]+:443 http\/1\.[01]$/);
          expect(line.slice(8, line.indexOf(":"))).toHaveLength(host.length);
          expect(isHostName(host)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("leaves nothing of itself to a record but a name or an address", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (a, b) => {
        for (const line of [`CONNECT ${a}:443 HTTP/1.1`, `GET ${b} HTTP/1.1`, `CONNECT [${a}]:443 HTTP/1.1`]) {
          expect(request(line).host ?? "").toMatch(/^[a-z0-9._:[\]-]{0,253}$/);
        }
      }),
    );
  });
});
