import * as fc from "../../../../test/support/property.ts";
import { expect, test } from "vitest";
import { classifyAddress } from "./addresses.ts";

test.each([
  ["127.0.0.1", "private"],
  ["127.255.255.254", "private"],
  ["10.1.2.3", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["172.32.0.1", "public"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["100.128.0.1", "public"],
  ["198.18.0.1", "private"],
  ["192.0.2.1", "private"],
  ["203.0.113.9", "private"],
  ["0.0.0.0", "never"],
  ["0.1.2.3", "never"],
  ["169.254.169.254", "never"],
  ["169.254.0.1", "never"],
  ["100.100.100.200", "never"],
  ["168.63.129.16", "never"],
  ["192.0.0.192", "never"],
  ["224.0.0.1", "never"],
  ["255.255.255.255", "never"],
  ["1.1.1.1", "public"],
  ["::1", "private"],
  ["0:0:0:0:0:0:0:1", "private"],
  ["::", "never"],
  ["fe80::1", "never"],
  ["fe80::1%eth0", "never"],
  ["febf::1", "never"],
  ["fc00::1", "private"],
  ["fd12:3456::1", "private"],
  ["fd00:ec2::254", "never"],
  ["fd20:ce::254", "never"],
  ["fec0::1", "private"],
  ["ff02::1", "never"],
  ["2001:db8::1", "private"],
  ["2001::1", "never"],
  ["2606:4700:4700::1111", "public"],
  ["4000::1", "never"],
  ["::ffff:127.0.0.1", "private"],
  ["::ffff:7f00:1", "private"],
  ["::ffff:169.254.169.254", "never"],
  ["::ffff:1.1.1.1", "public"],
  ["::ffff:0:127.0.0.1", "private"],
  ["::127.0.0.1", "private"],
  ["64:ff9b::10.0.0.1", "private"],
  ["64:ff9b::a9fe:a9fe", "never"],
  ["64:ff9b:1::1", "private"],
  ["2002:7f00:1::1", "private"],
  ["2002:a9fe:a9fe::", "never"],
  ["localhost", "never"],
  ["", "never"],
])("%s is %s", (address, reach) => {
  expect(classifyAddress(address)).toBe(reach);
});

test("an IPv6 form of an IPv4 address leads where that does", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const reach = classifyAddress(address);
      expect(classifyAddress(`::ffff:${address}`)).toBe(reach);
      expect(classifyAddress(`64:ff9b::${address}`)).toBe(reach);
    }),
    { numRuns: 300 },
  );
});
