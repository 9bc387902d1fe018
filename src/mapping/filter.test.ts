import { expect, test } from "vitest";
import { resolve } from "../../test/support/mapping.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { toCompiled } from "../../test/support/mapping.ts";

const mapping: MappingInput = {
  match: { path: "x" },
  messageTemplate: "{{title}}",
  event: "{{kind}}{{#if action}}.{{action}}{{/if}}",
  events: ["issue.*", "push", "*.failed"],
  ignore: [
    { value: "{{sender.type}}", is: "bot", reason: "a bot sent it" },
    { value: "{{ref}}", isNot: ["", "refs/heads/{{main}}", "v*"], reason: "it is another branch" },
    { value: "{{#each labels}}{{name}}\n{{/each}}", is: ["wip", "on-*-hold"], reason: "it has an ignored label" },
  ],
};
const post = (payload: object) =>
  resolve("x", { title: "T", main: "trunk", ref: "refs/heads/trunk", ...payload }, { mappings: [mapping] });

test.each([
  [{ kind: "issue", action: "opened" }, "issue.opened"],
  [{ kind: "PUSH" }, "PUSH"],
  [{ kind: "push", ref: "v1" }, "push"],
  [{ kind: "run", action: "failed", labels: [{ name: "bug" }] }, "run.failed"],
])("%j leads to an action", async (payload, event) => {
  expect(await post(payload)).toMatchObject({ event, actions: [{ message: "T" }], reason: undefined });
});

test.each([
  [{ kind: "star", action: "created" }, "the event star.created is not one of events"],
  [{ kind: "pushed" }, "the event pushed is not one of events"],
  [{}, "the event without a name is not one of events"],
  [{ kind: "push", ref: "refs/heads/x" }, "it is another branch (refs/heads/x)"],
  [{ kind: "push", ref: "" }, "it is another branch"],
  [{ kind: "push", sender: { type: "Bot" } }, "a bot sent it (Bot)"],
  [{ kind: "push", labels: [{ name: "bug" }, { name: "WIP" }] }, "it has an ignored label (WIP)"],
  [{ kind: "push", labels: [{ name: "on-a-long-hold" }] }, "it has an ignored label (on-a-long-hold)"],
])("%j is skipped with the reason", async (payload, reason) => {
  expect(await post(payload)).toMatchObject({ actions: [], reason });
});

test("each item has its own reason, and the first is shown if none is left", async () => {
  const each: MappingInput = {
    ...mapping,
    forEach: "items",
    event: "{{item}}",
    events: ["a"],
    ignore: [],
    messageTemplate: "{{item}}",
  };
  const mappings = [each];
  expect(await resolve("x", { items: ["b", "a"] }, { mappings })).toMatchObject({
    event: "b",
    actions: [{ message: "a" }],
  });
  expect(await resolve("x", { items: ["b", "c"] }, { mappings })).toMatchObject({
    reason: "the event b is not one of events",
  });
  expect(await resolve("x", { items: [] }, { mappings })).toMatchObject({ reason: "items lists nothing" });
});

test("events without event is a mistake", () => {
  expect(() => toCompiled({ ...mapping, event: undefined })).toThrow("events: Set event too");
});
