import { expect, test } from "vitest";
import { type Draft, type Given, toDraft } from "./draft.ts";

const nothing = toDraft({}, "shop");
const full: Required<Given> = {
  kind: "wake",
  text: "a text",
  message: "a message",
  mode: "next-heartbeat",
  name: "a name",
  sessionKey: "key",
  deliver: false,
  channel: "slack",
  to: "C1",
  model: "a/b",
  thinking: "high",
  timeoutSeconds: 3,
  agentId: "other",
  accountId: "eu",
  sessionMode: "isolated",
  allowUnsafeExternalContent: true,
  grants: [{ call: "a.b", mode: "read" }],
  targets: [{ isWanted: true, channel: "slack", isOwnChannel: true, isOwnRecipient: true }],
};

test("nothing that is given has the defaults", () => {
  const { kind, mode, name, deliver, channel, allowUnsafeExternalContent, ...others } = nothing;
  expect({ kind, mode, name, deliver, channel, allowUnsafeExternalContent }).toEqual({
    kind: "agent",
    mode: "now",
    name: "shop",
    deliver: true,
    channel: "last",
    allowUnsafeExternalContent: false,
  });
  expect(Object.values(others).every((value) => value === undefined)).toBe(true);
});

test("the drafts have every field", () => {
  expect(Object.keys(nothing).toSorted()).toEqual(Object.keys(full).toSorted());
});

test.each(Object.keys(full).filter((name) => name !== "kind"))("%s: undefined keeps it, null clears it", (name) => {
  const draft = toDraft(full, "shop");
  expect(draft).toMatchObject(full);
  expect(toDraft({ [name]: undefined }, "shop", draft)).toEqual(draft);
  expect(toDraft({ [name]: null }, "shop", draft)).toEqual({ ...draft, [name]: nothing[name as keyof Draft] });
});

test("without a kind, it is that of the other draft", () => {
  expect(toDraft({ kind: null }, "shop", toDraft(full, "shop")).kind).toBe("wake");
});

test.each(["sessionKey", "to", "model", "thinking", "channel", "name"])("a blank %s is not given", (name) => {
  expect(toDraft({ [name]: " \n" }, "shop")).toEqual(nothing);
});

test("a name is one line, and a channel has its usual name", () => {
  expect(toDraft({ name: "a\n b", channel: " teams:eu " }, "shop")).toMatchObject({
    name: "a b",
    channel: "msteams:eu",
  });
});
