import { expect, test } from "vitest";
import { createAuditList } from "./audit.ts";
import type { McpRequestRecord } from "../core/ports/audit.ts";

function request(at: number, principal: string | undefined): McpRequestRecord {
  return { at, principal, client: "203.0.113.9", method: "POST /mcp", event: undefined, outcome: "401" };
}

test("requests without a token do not displace what principals did", () => {
  const audit = createAuditList();
  audit.add(request(1, undefined));
  audit.add(request(2, "desk"));
  for (let at = 3; at < 2000; at += 1) audit.add(request(at, undefined));
  audit.add(request(2000, "desk"));
  const listed = audit.list(1000);
  expect(listed.map(({ at }) => at)).toEqual(listed.map(({ at }) => at).toSorted((one, other) => other - one));
  expect(listed.filter(({ principal }) => principal === "desk").map(({ at }) => at)).toEqual([2000, 2]);
  expect(listed.length).toBeLessThanOrEqual(1000);
  expect(audit.list(3).map(({ at }) => at)).toEqual([2000, 1999, 1998]);
});
