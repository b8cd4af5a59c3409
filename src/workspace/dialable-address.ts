import { BlockList, isIP } from "node:net";

/** Where the operator's one internal host may lie, in CIDR notation (SEC-67). */
export type AddressRange = string;

export type AddressRefusal = "no_address" | "not_public" | "own_address" | "outside_its_range";

/**
 * What no public service has of IPv4: IANA's special-purpose registry (RFC 6890), multicast, reserved space, and the one public
 * address at which a cloud answers its own machines (Azure's host node).
 */
const ipv4NotPublic = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];

/**
 * All of IPv6 but global unicast (2000::/3), and in that what tunnels IPv4 or is for examples (RFC 4380, 3056, 3849, 9637). So
 * an IPv4 address written as IPv6 (`::ffff:0:0/96`) is none either: no name server says so.
 */
const ipv6NotPublic = ["::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** RFC 6052: by it an IPv6-only network reaches IPv4. It is as public as the IPv4 address inside. */
const nat64 = "64:ff9b::";

/** Not even an internal host lies here: "this host", link-local and metadata addresses, multicast, IPv4 inside of IPv6. */
const neverInternal = [
  "0.0.0.0/8",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "192.0.0.192/32",
  "224.0.0.0/3",
  "::/128",
  "::ffff:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "2001::/32",
  "2002::/16",
  "fd00:ec2::254/128",
  "fd20:ce::254/128",
  "fe80::/10",
  "ff00::/8",
];

/** One list a family: a rule of the one would hold for addresses of the other too, in IPv6's form for IPv4. */
type Ranges = { readonly ipv4: BlockList; readonly ipv6: BlockList };

const familyOf = (address: string): keyof Ranges => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** Throws where one is no CIDR range; the operator's was checked when it was read. */
function rangesOf(ranges: readonly AddressRange[]): Ranges {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    const family = familyOf(address);
    lists[family].addSubnet(address, Number(prefix), family);
  }
  return lists;
}

const isIn = (ranges: Ranges, address: string): boolean => ranges[familyOf(address)].check(address, familyOf(address));

const insideNat64 = (range: AddressRange): AddressRange => {
  const [address, prefix] = range.split("/");
  return `${nat64}${address}/${96 + Number(prefix)}`;
};

const notPublic = rangesOf([...ipv4NotPublic, ...ipv6NotPublic]);
const ofNat64 = rangesOf([`${nat64}/96`]);
const notPublicInNat64 = rangesOf(ipv4NotPublic.map(insideNat64));
const neverDialed = rangesOf(neverInternal);

/**
 * Why an address that a name led to may not be dialed, or null (SEC-67). `own`: all addresses of this machine. `internal`: the
 * range of the host, where the operator marked it as internal; then it must lie there, public or not.
 */
export function addressRefusal(
  address: string,
  { own, internal }: { readonly own: readonly string[]; readonly internal: AddressRange | null },
): AddressRefusal | null {
  if (isIP(address) === 0 || address.includes("%")) return "no_address";
  if (internal !== null) {
    const isAllowed = isIn(rangesOf([internal]), address) && !isIn(neverDialed, address);
    return isAllowed ? null : "outside_its_range";
  }
  const isPublic = isIn(ofNat64, address) ? !isIn(notPublicInNat64, address) : !isIn(notPublic, address);
  if (!isPublic) return "not_public";
  return isOwn(address, own) ? "own_address" : null;
}

function isOwn(address: string, own: readonly string[]): boolean {
  const usable = own.filter((one) => isIP(one) !== 0 && !one.includes("%"));
  return isIn(rangesOf(usable.map((one) => `${one}/${isIP(one) === 6 ? 128 : 32}`)), address);
}
