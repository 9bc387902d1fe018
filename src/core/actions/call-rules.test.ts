import { expect, test } from "vitest";
import type { Step } from "../journal/journal.ts";
import { openToolSets } from "../../agents/tools/tool-sets.ts";
import type { Grant } from "../types.ts";
import { CALL_RULES, openGrants, planCalls } from "./call-rules.ts";

/** A call as servers offer it: arguments that its schema does not name are not forbidden. */
const INPUT = {
  type: "object",
  properties: { project: { type: "string" }, title: { type: "string" } },
  allOf: [{ properties: { notify: { type: "string" } } }],
};

/** Why a call with these arguments is not sent; undefined: it is. */
function refusalOf(grant: Omit<Grant, "call">, args: Record<string, unknown>): string | undefined {
  const call = { name: "create", description: "", input: INPUT, call: async () => ({ text: "", isError: false }) };
  const block = { kind: "mcp", options: {}, audience: undefined, maxResultLength: 9, callTimeoutMs: 9, dryRun: false };
  const tools = openToolSets(new Map([["tickets", { set: { name: "tickets", calls: [call] }, block }]]));
  const origin = { source: "webhook ci", hook: "ci" };
  const { rules } = openGrants([{ call: "tickets.create", ...grant }], tools, {
    runId: "run",
    origin,
    closeLinks: async (text) => text,
  });
  const calls = [{ toolCallId: "1", name: "tickets__create", arguments: args }];
  const answer: Step = {
    n: 1,
    kind: "model",
    state: "done",
    answer: { calls, content: [] },
    sources: [],
    startedAt: 0,
  };
  return planCalls(answer, { rules, past: [], sources: [], recorded: [] })[0]?.refusal;
}

test("with allow, an argument that the schema names elsewhere, or not at all, is not free", () => {
  const grant: Omit<Grant, "call"> = { mode: "allow", arguments: { project: "OPS" }, free: ["title"] };
  expect(refusalOf(grant, { title: "Disk full" })).toBeUndefined();
  for (const name of ["notify", "Title", "hidden", "__proto__"]) {
    expect(refusalOf(grant, JSON.parse(`{"${name}":"x"}`))).toBe(`the argument ${name} cannot be chosen`);
  }
});

test("what is fixed cannot be chosen by another spelling that a server may read as the same", () => {
  for (const mode of ["read", "ask", "allow"] as const) {
    const grant = { mode, arguments: { project: "OPS" } };
    for (const name of ["project", "Project", "PROJECT", "ｐroject"]) {
      expect(refusalOf(grant, { [name]: "SECRET" })).toMatch(/ (?:is fixed, and )?cannot be chosen$/);
    }
  }
  expect(refusalOf({ mode: "ask", arguments: { project: "OPS" } }, { title: "Disk full" })).toBeUndefined();
});

test.each([
  ['{"count": 9007199254740991}', undefined],
  ['{"count": 69.5}', undefined],
  ['{"count": 9007199254740993}', "the argument count has a number that cannot be sent exactly"],
  ['{"lines": [{"id": 12345678901234567890}]}', "the argument lines has a number that cannot be sent exactly"],
])("a number that would be sent as another one than the model wrote is a wrong argument: %s", (args, refusal) => {
  expect(refusalOf({ mode: "ask" }, JSON.parse(args))).toBe(refusal);
});

test.each([
  ["allow", true, ["tickets"], true],
  ["allow", true, [], false],
  ["allow", undefined, ["tickets"], false],
  ["ask", undefined, [], true],
] as const)("mode %s, public %s, after text of %j: a person is asked: %s", (mode, isPublic, sources, asks) => {
  const call = { name: "label", description: "", input: INPUT, call: async () => ({ text: "", isError: false }) };
  const block = {
    kind: "writes",
    options: {},
    audience: undefined,
    maxResultLength: 9,
    callTimeoutMs: 9,
    dryRun: false,
  };
  const [open] = openToolSets(new Map([["github", { set: { name: "github", calls: [call] }, block }]])).list();
  const grant: Grant = { call: "github.label", mode, ...(isPublic && { isPublic }) };
  expect(CALL_RULES.needsPerson({ call: open!, grant, fixed: {} }, sources)).toBe(asks);
});
