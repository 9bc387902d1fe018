import { afterEach, beforeEach, expect, test } from "vitest";
import { failureOf } from "../contracts/failure-of.ts";
import { type FaultProxy, startFaultProxy } from "../contracts/fault-proxy.ts";
import { type MsteamsServer, startMsteams } from "../../test/support/msteams.ts";
import { createTokenSource } from "./msteams-token.ts";

const never = new AbortController().signal;
let teams: MsteamsServer;
let proxy: FaultProxy;
beforeEach(async () => {
  teams = await startMsteams();
  proxy = await startFaultProxy(teams.tokenUrl);
});
afterEach(async () => {
  await proxy.close();
  await teams.close();
});

const open = () => createTokenSource({ ...teams, tokenUrl: proxy.url });

test("all who ask at once get the same token, and those after them", async () => {
  const tokens = open();
  const got = await Promise.all([tokens.get(never), tokens.get(never), tokens.get(never)]);
  expect([...got, await tokens.get(never)]).toEqual(Array(4).fill("token-0"));
  expect(teams.tokenCount()).toBe(1);
});

test("a token that soon ends is not used again", async () => {
  const tokens = open();
  teams.setLifetime(299);
  expect(await tokens.get(never)).toBe("token-0");
  teams.setLifetime(3600);
  expect(await tokens.get(never)).toBe("token-1");
  expect(await tokens.get(never)).toBe("token-1");
});

test("a token that was forgotten is not given again; another's is kept", async () => {
  const tokens = open();
  await tokens.get(never);
  tokens.forget("another");
  expect(await tokens.get(never)).toBe("token-0");
  tokens.forget("token-0");
  expect(await tokens.get(never)).toBe("token-1");
});

test("a failure is not kept", async () => {
  const tokens = open();
  proxy.inject({ kind: "answer", status: 503 });
  expect(await failureOf(tokens.get(never))).toMatchObject({ kind: "passing" });
  proxy.inject();
  expect(await tokens.get(never)).toBe("token-0");
});

test("who gives up takes the token from nobody else", async () => {
  const tokens = open();
  const abort = new AbortController();
  const first = failureOf(tokens.get(abort.signal));
  const second = tokens.get(never);
  abort.abort();
  expect(await first).toMatchObject({ kind: "passing" });
  expect(await second).toBe("token-0");
});

test("gives up at once while the sign-in is silent", async () => {
  const tokens = open();
  proxy.inject({ kind: "hang" });
  expect(await failureOf(tokens.get(AbortSignal.timeout(50)))).toMatchObject({ kind: "passing" });
});
