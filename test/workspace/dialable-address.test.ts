import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressRefusal } from "../../src/workspace/dialable-address.ts";

const nothingOwn = { own: [], internal: null };

/** Networks that no public service has, as first address and prefix, from the pages that reserve them. */
const closed: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8], // RFC 1122
  ["10.0.0.0", 8], // RFC 1918
  ["100.64.0.0", 10], // RFC 6598
  ["127.0.0.0", 8], // RFC 1122
  ["169.254.0.0", 16], // RFC 3927, and the clouds' metadata
  ["172.16.0.0", 12], // RFC 1918
  ["192.0.0.0", 24], // RFC 6890
  ["192.168.0.0", 16], // RFC 1918
  ["198.18.0.0", 15], // RFC 2544
  ["224.0.0.0", 4], // RFC 5771
  ["240.0.0.0", 4], // RFC 1112
];

const toNumber = (address: string): number => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const toText = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join(".");
const within = ([first, prefix]: readonly [string, number]): fc.Arbitrary<string> =>
  fc.nat(2 ** (32 - prefix) - 1).map((offset) => toText(toNumber(first) + offset));
const closedAddress = fc.constantFrom(...closed).chain(within);
const publicAddress = fc
  .constantFrom<readonly [string, number]>(["8.8.0.0", 16], ["93.184.0.0", 16], ["151.101.0.0", 16], ["1.1.1.0", 24])
  .chain(within);

/** The same address written into IPv6, in every way that a network may take it out again. */
function embeddings(address: string): readonly string[] {
  const hex = toNumber(address).toString(16).padStart(8, "0");
  const words = `${hex.slice(0, 4)}:${hex.slice(4)}`;
  return [
    `::ffff:${address}`, // mapped, RFC 4291
    `::ffff:${words}`,
    `::${words}`, // compatible, RFC 4291
    `::ffff:0:${words}`, // translated, RFC 2765
    `64:ff9b::${words}`, // NAT64, RFC 6052
    `64:ff9b:1::${words}`, // NAT64 of a site, RFC 8215
    `2002:${words}::1`, // 6to4, RFC 3056
    `2001:0:${words}::1`, // Teredo, RFC 4380
  ];
}

describe("an address that setup's proxy may dial (SEC-67)", () => {
  it("is none of a network that is not public, in its own form or written into IPv6", () => {
    fc.assert(
      fc.property(closedAddress, (address) => {
        for (const form of [address, ...embeddings(address)]) {
          expect(addressRefusal(form, nothingOwn), form).toBe("not_public");
        }
      }),
    );
  });

  it("is a public one, of IPv4 also by NAT64 and by no other way through IPv6", () => {
    fc.assert(
      fc.property(publicAddress, (address) => {
        const [nat64, ...others] = embeddings(address).toSorted((a, b) => Number(isNat64(b)) - Number(isNat64(a)));

        expect(addressRefusal(address, nothingOwn)).toBeNull();
        expect(addressRefusal(nat64 ?? "", nothingOwn)).toBeNull();
        for (const form of others) expect(addressRefusal(form, nothingOwn), form).toBe("not_public");
      }),
    );
  });

  const isNat64 = (address: string): boolean => address.startsWith("64:ff9b::");

  it.each([
    "::",
    "::1",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "168.63.129.16",
    "100.100.100.200",
    "255.255.255.255",
  ])("is not %s", (address) => {
    expect(addressRefusal(address, nothingOwn)).toBe("not_public");
  });

  it.each(["2606:4700::1111", "2a00:1450:4001::200e", "2620:fe::fe"])("may be %s", (address) => {
    expect(addressRefusal(address, nothingOwn)).toBeNull();
  });

  it.each(["", "localhost", "fe80::1%eth0", "2606:4700::1111%1", "1.2.3", "0x7f.1", "1.2.3.4/8", "[::1]"])(
    "is no text that is not an address: `%s`",
    (text) => {
      expect(addressRefusal(text, nothingOwn)).toBe("no_address");
    },
  );

  it("is none of this machine's own, in whatever form", () => {
    const own = ["203.0.114.7", "2a00:1450:0:0::1", "fe80::1%eth0"];

    expect(addressRefusal("203.0.114.7", { own, internal: null })).toBe("own_address");
    expect(addressRefusal("2a00:1450::1", { own, internal: null })).toBe("own_address");
    expect(addressRefusal("203.0.114.8", { own, internal: null })).toBeNull();
  });

  it("of a host marked as internal lies in its range and nowhere else", () => {
    const internal = { own: [], internal: "10.20.0.0/16" };

    expect(addressRefusal("10.20.3.4", internal)).toBeNull();
    expect(addressRefusal("10.21.3.4", internal)).toBe("outside_its_range");
    expect(addressRefusal("8.8.8.8", internal)).toBe("outside_its_range");
    expect(addressRefusal("::ffff:10.20.3.4", internal)).toBe("outside_its_range");
    expect(addressRefusal("127.0.0.1", { own: ["127.0.0.1"], internal: "127.0.0.0/8" })).toBeNull();
  });

  it.each([
    ["169.254.169.254", "0.0.0.0/0"],
    ["100.100.100.200", "100.64.0.0/10"],
    ["224.0.0.1", "0.0.0.0/0"],
    ["fd00:ec2::254", "fd00::/8"],
    ["fe80::1", "::/0"],
    ["::ffff:10.0.0.1", "::/0"],
    ["64:ff9b::a00:1", "::/0"],
  ])("is not %s for an internal host either, whatever its range (%s)", (address, internal) => {
    expect(addressRefusal(address, { own: [], internal })).toBe("outside_its_range");
  });
});
