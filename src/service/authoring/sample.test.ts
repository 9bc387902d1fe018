import { expect, test } from "vitest";
import { toExpectation } from "./sample.ts";

const ID = "5f0c8a52-3c1e-4b7e-9a43-0d6f2b1c7e10";

test("leaves out what stands at its default", () => {
  const usual = { wakeMode: "now", deliver: true, channel: "last", timeoutSeconds: 600, to: undefined };
  const action = { kind: "agent", message: "x", ...usual, sessionKey: `hook:${ID}` };
  expect(toExpectation({ actions: [action] }, "{}")).toEqual([{ kind: "agent", message: "x" }]);
});

test("with the name of its event, shows name and reason", () => {
  const result = { event: "push", actions: [], reason: "a bot sent it" };
  expect(toExpectation(result, "{}")).toEqual(result);
});

test("keeps what does not", () => {
  const action = { kind: "wake", text: "x", mode: "next-heartbeat", allowUnsafeExternalContent: true };
  expect(toExpectation({ actions: [action] }, "{}")).toEqual([action]);
});

test("the order of the fields is always the same", () => {
  const action = { instructions: "i", name: "n", message: "m", kind: "agent" };
  expect(Object.keys([toExpectation({ actions: [action] }, "{}")].flat()[0]!)).toEqual([
    "kind",
    "message",
    "name",
    "instructions",
  ]);
});

test("a random id stands as such, one of the payload as it is", () => {
  const action = { kind: "agent", message: `order ${ID}`, sessionKey: `order:${ID}` };
  expect(toExpectation({ actions: [action] }, `{"id":"${ID}"}`)).toEqual([action]);
  expect(toExpectation({ actions: [action] }, "{}")).toEqual([
    { kind: "agent", message: "order <uuid>", sessionKey: "order:<uuid>" },
  ]);
});
