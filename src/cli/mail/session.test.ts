import { expect, test } from "vitest";
import type { SetupFlags } from "./flags.ts";
import { createAsker, type Person } from "./prompts.ts";
import { isTaken } from "./session.ts";

const FLAGS: SetupFlags = { check: true, yes: true, dryRun: false, json: true };
const HOST = "mail.example.com";

test("with nobody to ask, a server is taken, but no foreign one", async () => {
  expect(await isTaken(createAsker(FLAGS, undefined), { host: HOST })).toBe(true);
  for (const flags of [FLAGS, { ...FLAGS, port: "993" }]) {
    await expect(isTaken(createAsker(flags, undefined), { host: HOST, isForeign: true })).rejects.toThrow(
      `--host is missing: DNS names ${HOST}`,
    );
  }
});

test("a flag that says something else leads to the questions about a server", async () => {
  expect(await isTaken(createAsker({ ...FLAGS, tls: "starttls" }, undefined), { host: HOST })).toBe(false);
});

test.each([true, false])("a person is asked, also about a foreign one: %s", async (answer) => {
  const asked: string[] = [];
  const confirm: Person["confirm"] = async (message) => {
    asked.push(message);
    return answer;
  };
  const asker = { ...createAsker(FLAGS, undefined), person: { confirm } as Person };
  expect(await isTaken(asker, { host: HOST, isForeign: true })).toBe(answer);
  expect(asked).toEqual([`Use ${HOST}?`]);
});
