import { expect, test } from "vitest";
import type { Route } from "../journal/port.ts";
import type { ChannelName } from "../types.ts";
import { resolveRoute } from "./route.ts";

/** The routes used so far, the last one last. */
function journalOf(...routes: Route[]) {
  return {
    lastRoute: async (channel?: ChannelName) =>
      routes.findLast((route) => channel === undefined || route.channel === channel),
  };
}

const slack: Route = { channel: "slack", to: "C1" };
const signal: Route = { channel: "signal", to: "+1" };

test("last is the route used last", async () => {
  expect(await resolveRoute({ channel: "last" }, journalOf(signal, slack))).toEqual(slack);
});

test("last with a recipient is that recipient on the channel used last", async () => {
  expect(await resolveRoute({ channel: "last", to: "C2" }, journalOf(slack))).toEqual({ ...slack, to: "C2" });
});

test("last is whatsapp where no channel has been used", async () => {
  expect(await resolveRoute({ channel: "last", to: "+2" }, journalOf())).toEqual({
    channel: "whatsapp",
    to: "+2",
  });
});

test("last is nowhere where no channel has been used and no recipient is named", async () => {
  expect(await resolveRoute({ channel: "last" }, journalOf())).toBeUndefined();
});

test("a channel without a recipient takes the one last used on it, and no other's", async () => {
  expect(await resolveRoute({ channel: "signal" }, journalOf(signal, slack))).toEqual(signal);
  await expect(resolveRoute({ channel: "telegram" }, journalOf(signal, slack))).rejects.toThrow(
    "for telegram",
  );
});

test("a delivery of which a part has gone goes on to where that went", async () => {
  expect(await resolveRoute({ channel: "last", route: slack }, journalOf(slack, signal))).toEqual(slack);
});
