import { expect, test } from "vitest";
import { describePrograms, describeReach } from "./agents.ts";

const providers = {
  coder: { kind: "acp", sandbox: { model: "api/tiny", hosts: ["registry.npmjs.org"] }, env: { TOKEN: "x" } },
  open: { kind: "command", sandbox: false },
  api: { kind: "openai" },
};
const agents = { providers, model: "coder/default", models: [{ id: "open/x", alias: "loose" }] };
const grants = { "tickets.note": { mode: "allow" }, "tickets.close": "ask" } as const;

test.each([
  [
    {},
    "agent coder: in a sandbox; model api/tiny; hosts registry.npmjs.org (what a turn has read can leave there); it can read TOKEN; calls: none",
  ],
  [{ grants }, "agent coder: .*; calls: tickets.note (allow), tickets.close (ask)"],
  [{ grants: [{ call: "tickets.show", mode: "read" }] }, "agent coder: .*; calls: tickets.show (read)"],
  [{ model: "loose", grants }, "agent open is not in a sandbox: outside text can run commands as this user"],
  [{ model: "api/tiny" }, undefined],
  [{ agent: "none" }, undefined],
])("what reaches the agent of %j", (turn, line) => {
  const lines = describeReach([turn, turn], agents);
  if (line === undefined) expect(lines).toEqual([]);
  else expect(lines).toEqual([expect.stringMatching(new RegExp(`^${line.replaceAll(/[()]/g, "\\$&")}$`))]);
});

test("check says what scripts can call without a person", () => {
  const mappings = [{ id: "ci", mapping: { grants } }];
  const config = { agents, hooks: { mappings } } as unknown as Parameters<typeof describePrograms>[0];
  const [coder, open] = describePrograms(config);
  expect(coder).toContain("; scripts that it runs can call tickets.note too, without a person; 1 mapping: ci");
  expect(open).toBe("agent open: not in a sandbox; no mapping");
});
