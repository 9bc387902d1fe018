import { describe, expect, test } from "vitest";
import { toSource } from "../../../../test/support/mapping.ts";
import type { MappingInput } from "../../config/schema/generated.ts";
import { compileStart, type Start } from "./start.ts";
import { createDiagnostics } from "../diagnostics.ts";
import { createBudget } from "../template/template.ts";

function start(mapping: Partial<MappingInput>, payload: object) {
  const source = toSource({ messageTemplate: "x", ...mapping });
  const diagnostics = createDiagnostics(source);
  const find = compileStart(source.mapping, diagnostics);
  expect(diagnostics.problems).toEqual([]);
  return find?.(payload, createBudget());
}

const author: MappingInput["author"] = [
  {
    of: "github",
    id: "{{user.id}}",
    handle: "{{user.login}}",
    role: "{{role}}",
    member: "{{#if (eq role 'owner')}}member{{/if}}",
    editor: "{{editor}}",
  },
];
const X = { user: { id: 9, login: "x" }, role: "contributor" };
const OWNER = { user: { id: 1, login: "ann" }, role: "owner" };

describe.each([
  [["member"], OWNER, "runs", "runs"],
  [["owner"], OWNER, "runs", "runs"],
  [["github:1"], OWNER, "runs", "runs"],
  [["@ANN"], OWNER, "runs", "runs"],
  [["member", "!@ann"], OWNER, "never", "never"],
  [["anyone", "!github:1"], OWNER, "never", "never"],
  [["member", "anyone"], OWNER, "runs", "runs"],
  [["member"], X, "skipped", "stranger"],
  [["member", "contributor"], X, "runs", "runs"],
  [["member", "github:9"], X, "runs", "runs"],
  [["member", "@x"], X, "runs", "runs"],
  [["anyone"], X, "stranger", "stranger"],
  [["*"], X, "stranger", "stranger"],
  [["member", "anyone"], X, "stranger", "stranger"],
  [["@ann", "github:90", "github:", "x"], X, "skipped", "stranger"],
  [[], X, "skipped", "stranger"],
  [["member"], {}, "machine", "machine"],
  [[], {}, "machine", "machine"],
])("from %j, %j", (is, payload, asked, told) => {
  test.each([
    [true, asked],
    [false, told],
  ])("asks: %j", (asks, expected) => {
    expect(outcomeOf(start({ author, asks, from: { is } }, payload))).toBe(expected);
  });
});

function outcomeOf(found: Start | undefined): string {
  if (!found) return "machine";
  if (found.refusal !== undefined) return /!/.test(found.refusal) ? "never" : "skipped";
  return found.isStranger ? "stranger" : "runs";
}

test("the reason names who it was, and what counts", () => {
  const reasonOf = (is: string | string[], payload: object = X): string | undefined =>
    start({ author, asks: true, from: { is } }, payload)?.refusal;
  expect(reasonOf("member")).toBe("@x (github:9, contributor) is not in from: member");
  expect(reasonOf([])).toBe("@x (github:9, contributor) is not in from: []");
  expect(reasonOf(["member", "@y"], { user: { id: 9 } })).toBe("github:9 is not in from: member, @y");
});

test("no value can add a line, and with it a role or a name", () => {
  for (const login of [
    "x\nmember",
    "x\r\nmember",
    "x\u2028member",
    "x\u000bmember",
    "x\u0000member",
    "member",
    "anyone",
  ]) {
    const payload = { user: { id: "7\ngithub:1", login }, role: "none\nmember" };
    expect(outcomeOf(start({ author, asks: true, from: { is: ["member", "github:1", "@ann"] } }, payload))).toBe(
      "skipped",
    );
  }
  const from = { value: "{{email}}\n{{id}}", is: ["*@acme.com", "7"] };
  expect(outcomeOf(start({ from }, { email: "eve@evil.example\nann@acme.com" }))).toBe("skipped");
});

test("an id differs by case, a name does not", () => {
  const payload = { user: { id: "29:1aB", login: "Ann" } };
  const isIn = (is: string): string => outcomeOf(start({ author, asks: true, from: { is } }, payload));
  expect([isIn("github:29:1aB"), isIn("github:29:1ab"), isIn("@ann")]).toEqual(["runs", "skipped", "runs"]);
});

describe("an edit", () => {
  const edit = (editor: unknown, asks = true): Start | undefined =>
    start({ author, asks, from: { is: ["member", "@x"] } }, { ...X, editor });

  test("of the text's author asks", () => expect(outcomeOf(edit(9))).toBe("runs"));
  test("of somebody else starts nothing", () => {
    expect(edit(1)).toMatchObject({ refusal: "somebody else than its author edited it" });
  });
  test("of somebody else tells as before", () => expect(outcomeOf(edit(1, false))).toBe("runs"));
});

describe("addresses", () => {
  const mail: MappingInput["author"] = [
    { also: "{{#if pass}}{{sender}}{{/if}}", claimed: "{{sender}}", role: "{{#unless pass}}no DMARC pass{{/unless}}" },
  ];
  const ask = (is: string[], payload: object) => start({ author: mail, asks: true, from: { is } }, payload);
  const ANN = { sender: "ann@acme.com" };

  test("count only once verified", () => {
    expect(outcomeOf(ask(["*@acme.com"], { ...ANN, pass: true }))).toBe("runs");
    expect(ask(["*@acme.com"], ANN)?.refusal).toBe("ann@acme.com (no DMARC pass) is not in from: *@acme.com");
    expect(outcomeOf(ask(["anyone"], ANN))).toBe("stranger");
  });
  test("are excluded all the same", () => expect(outcomeOf(ask(["anyone", "!ann@acme.com"], ANN))).toBe("never"));
});

test("people of a place that place names literally are members", () => {
  const room: MappingInput["author"] = [{ id: "{{id}}", room: "{{room}}" }];
  const ask = (place: string[], at: string): string =>
    outcomeOf(start({ author: room, asks: true, from: { is: "member" }, place }, { id: 1, room: at }));
  expect(ask(["-100", "-200"], "-200")).toBe("runs");
  for (const place of [["-1*"], ["*"], ["!-100"], ["-200"], []]) expect(ask(place, "-100")).toBe("skipped");
  expect(ask([""], "")).toBe("skipped");
  expect(ask(["!-100"], "!-100")).toBe("skipped");
});

test("the first case that holds names the author", () => {
  const cases: MappingInput["author"] = [
    { of: "github", when: "{{#if comment}}comment{{/if}}", id: "{{comment.user}}" },
    { of: "github", id: "{{sender}}" },
  ];
  const idOf = (payload: object) => start({ author: cases }, payload)?.author.id;
  expect([idOf({ comment: { user: 1 }, sender: 2 }), idOf({ sender: 2 }), idOf({ comment: {}, sender: 2 })]).toEqual([
    "github:1",
    "github:2",
    undefined,
  ]);
});
