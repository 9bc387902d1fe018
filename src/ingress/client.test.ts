import { expect, test } from "vitest";
import { toClient } from "./client.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["2001:0db8:0:0:0:0:0:1", "2001:db8::1"],
  ["192.0.2.1:4711", "192.0.2.1"],
  ["[::ffff:192.0.2.1]:4711", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["[2001:db8::1]:4711", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["localhost", "unknown"],
  ["", "unknown"],
  [undefined, "unknown"],
])("%s counts as %s", (address, client) => {
  expect(toClient(address)).toBe(client);
});
