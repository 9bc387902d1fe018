import { expect, test } from "vitest";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { startToolServer } from "../../../test/support/tool-server.ts";
import { createHttp } from "./http.ts";
import type { ToolSet } from "../../core/ports/tool-set.ts";
import type { ToolSets } from "../../core/ports/open-tool-sets.ts";
import { findEqualNames, openToolSets } from "./tool-sets.ts";

const SECRET = "credential-of-tests-123";

function open(set: ToolSet, options: Record<string, unknown> = {}, callTimeoutMs = 60_000): ToolSets {
  const block = { kind: "http", options, audience: undefined, maxResultLength: 1000, callTimeoutMs, dryRun: false };
  return openToolSets(new Map([[set.name, { set, block }]]));
}

function openHttp(baseUrl: string, callTimeoutMs?: number): ToolSets {
  const headers = { authorization: `Bearer ${SECRET}` };
  const calls = {
    ok: { description: "Reads.", get: "/ok/{id}", input: { id: "integer" } },
    long: { description: "Reads.", get: "/long", maxResultLength: 500 },
    hang: { description: "Reads.", get: "/hang" },
  } as const;
  const set = createHttp({ baseUrl, private: true, headers, calls }, { name: "tickets", compileTemplate });
  return open(set, { headers }, callTimeoutMs);
}

const OPTIONS = { signal: new AbortController().signal, callId: "run-1/1" };

test("arguments that do not fit the schema are refused, and nothing is sent", async () => {
  await using server = await startToolServer();
  const call = openHttp(server.url).find("tickets.ok");
  for (const args of [{}, { id: "7" }, { id: 7, more: 1 }, [], null, "7"]) {
    expect(await call?.call(args, OPTIONS)).toMatchObject({
      isError: true,
      reason: expect.stringContaining("Not sent"),
    });
  }
  expect(server.requests).toEqual([]);
});

test("a result says where it was cut, and a service that echoes its request reveals no secret", async () => {
  await using server = await startToolServer(({ headers }) => `${"x".repeat(990)}${headers.authorization}`);
  const sets = openHttp(server.url);
  const long = await sets.find("tickets.long")?.call({}, OPTIONS);
  expect(long?.text).toBe(`${"x".repeat(500)}\n[The result was cut here, after 500 characters.]`);
  const echoed = await sets.find("tickets.ok")?.call({ id: 1 }, OPTIONS);
  expect(echoed?.text).toMatch(/^x{990}\[redacted\]$/);
  expect(echoed?.text).not.toContain(SECRET.slice(0, 4));
  const shorter = await sets.find("tickets.ok")?.call({ id: 1 }, { ...OPTIONS, maxResultLength: 1001 });
  expect(shorter?.text).not.toContain(SECRET.slice(0, 4));
});

test("a secret that the reading cut in two is not shown because the ones before it were shortened", async () => {
  await using server = await startToolServer(({ headers }) => `${headers.authorization} `.repeat(100));
  const echoed = await openHttp(server.url).find("tickets.ok")?.call({ id: 1 }, OPTIONS);
  expect(echoed?.text).toMatch(/^(?:\[redacted\] )+/);
  expect(echoed?.text).toMatch(/\n\[The result was cut here\.\]$/);
  expect(echoed?.text).not.toMatch(/Bearer|cred/);
});

test("a call that takes too long has an unknown outcome", async () => {
  await using server = await startToolServer();
  const call = openHttp(server.url, 50).find("tickets.hang");
  await expect(call?.call({}, OPTIONS)).rejects.toMatchObject({ name: "CallTimeout", retryable: true });
});

test("names that are equal for a model are found, and long ones are cut", () => {
  const set = (calls: string[]): ToolSet => ({
    name: "a",
    calls: calls.map((name) => ({
      name,
      description: "",
      input: { type: "object" },
      call: async () => ({ text: "", isError: false }),
    })),
  });
  expect(findEqualNames(open(set(["x.y", "x_y"])).list())).toContain("a.x.y and a.x_y are both a__x_y");
  const long = "n".repeat(70);
  expect(findEqualNames(open(set([`${long}1`, `${long}2`, "x"])).list())).toBeUndefined();
});

test("a call that does not exist is explained", () => {
  const sets = openHttp("http://127.0.0.1:1");
  expect(sets.find("tickets.show")).toBeUndefined();
  expect(sets.explainMissing("ticket.ok")).toContain('did you mean "tickets"');
  expect(sets.explainMissing("tickets.okk")).toContain('did you mean "tickets.ok"');
});
