import { BlockList, isIP } from "node:net";

/** public: the internet · private: this machine or its networks, for blocks with `private: true` · never: reached by no call. */
export type Reach = "public" | "private" | "never";

/**
 * Where an address leads, by the special-purpose registries of IANA. An IPv6 address that contains an IPv4 address leads
 * where that one does: a translator or this machine's own stack would connect to it.
 */
export function classifyAddress(address: string): Reach {
  // A zone identifier: fe80::1%eth0.
  const [plain = ""] = address.split("%", 1);
  if (isIP(plain) === 4) return classifyIPv4(plain);
  if (isIP(plain) !== 6) return "never";
  const groups = toGroups(plain);
  const embedded = findEmbedded(groups);
  if (embedded !== undefined) return classifyIPv4(embedded);
  if (NEVER.check(plain, "ipv6")) return "never";
  if (PRIVATE.check(plain, "ipv6")) return "private";
  // All global unicast addresses are in 2000::/3.
  return (groups[0]! & 0xe000) === 0x2000 ? "public" : "never";
}

function classifyIPv4(address: string): Reach {
  if (NEVER.check(address)) return "never";
  return PRIVATE.check(address) ? "private" : "public";
}

/** Link-local, metadata services of clouds, "this host", multicast and reserved addresses. */
const NEVER = listOf(
  "0.0.0.0/8",
  "169.254.0.0/16",
  "100.100.100.200/32", // Alibaba Cloud
  "168.63.129.16/32", // Azure
  "192.0.0.192/32", // Oracle Cloud
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/128",
  "fe80::/10",
  "fd00:ec2::254/128", // AWS
  "fd20:ce::254/128", // Google Cloud
  "ff00::/8",
  "2001::/32", // Teredo leads through a server of someone else.
);

const PRIVATE = listOf(
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "::1/128",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fec0::/10",
);

function listOf(...ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", prefix] = range.split("/");
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** The eight groups of an IPv6 address. */
function toGroups(address: string): number[] {
  // The URL parser writes an IPv4 part as two groups.
  const [head = "", tail = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const [before, after] = [head, tail].map((part) =>
    part
      .split(":")
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16)),
  );
  return [...before!, ...Array<number>(8 - before!.length - after!.length).fill(0), ...after!];
}

/** The IPv4 address in a mapped, compatible, NAT64 or 6to4 address. */
function findEmbedded(groups: number[]): string | undefined {
  const [first, second] = groups;
  if (first === 0x2002) return toIPv4(groups.slice(1, 3));
  const isTranslated = first === 0x64 && second === 0xff9b && isZero(groups.slice(2, 6));
  const isMapped = isZero(groups.slice(0, 5)) && groups[5] === 0xffff;
  const isTranslatedByHost = isZero(groups.slice(0, 4)) && groups[4] === 0xffff && groups[5] === 0;
  // ::1 and :: are no IPv4 addresses.
  const isCompatible = isZero(groups.slice(0, 6)) && (groups[6] !== 0 || groups[7]! > 1);
  return isTranslated || isMapped || isTranslatedByHost || isCompatible ? toIPv4(groups.slice(6)) : undefined;
}

function isZero(groups: number[]): boolean {
  return groups.every((group) => group === 0);
}

function toIPv4(groups: number[]): string {
  return groups.flatMap((group) => [group >> 8, group & 0xff]).join(".");
}
