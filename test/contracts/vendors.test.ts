/** Each built-in vendor passes the suite for vendors of plugins. */
import { AssertionError } from "node:assert";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { rejectionOf } from "../../src/contracts/harness.ts";
import { testVendor } from "../../src/contracts/index.ts";
import { DriverError } from "../../src/core/errors.ts";
import { defineVendor } from "../../src/core/ports/vendor.ts";
import { vendors } from "../../src/vendors/index.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";
import { doubles } from "../support/vendors/doubles.ts";

test.each(Object.entries(vendors))("%s", async (name, vendor) => {
  await expect(testVendor(vendor, doubles[name] ?? {})).resolves.toBeUndefined();
});

test("a channel says whether its accounts have repositories", async () => {
  const folder = tmpdir();
  const context = {
    baseDir: folder,
    tempDir: folder,
    stateDir: folder,
    log: silentLog,
    compileTemplate: () => ({ render: () => "" }),
  };
  const channels = Object.entries(vendors).flatMap(([vendor, one]) =>
    Object.entries(one.channels ?? {}).map(([name, definition]) => ({ vendor, name, definition })),
  );
  const having = [];
  for (const { vendor, name, definition } of channels) {
    const block = doubles[vendor]?.channels?.[name]?.block("http://127.0.0.1:9/") ?? {};
    const { openGit, findPull, openPull } = await definition.create(block, { ...context, name });
    if (openGit && findPull && openPull) having.push(name);
  }
  expect(having).toEqual(["gitea", "github", "gitlab"]);
  expect(channels.flatMap(({ name, definition }) => (definition.hasRepositories ? name : []))).toEqual(having);
});

const CHANNELS = { bird: { to: "nest", block: (url: string) => ({ url }) } };
const MESSAGE = { text: "hello", person: "ann", to: "nest", at: 1, messageId: "m" };
const EVENT = { payload: { by: "ann", text: "hello" }, headers: {} };

test("what a vendor does wrong is named, all of it", async () => {
  const post = async (url: string): Promise<Response> => {
    const response = await fetch(url, { method: "POST", body: "x" });
    if (!response.ok) throw new DriverError(`Bird answered ${response.status}.`, { retryable: response.status >= 500 });
    return response;
  };
  const vendor = defineVendor({
    service: "Bird",
    channels: {
      bird: {
        schema: { type: "object" },
        create: (options: { url?: string }) => ({
          name: "bird",
          limit: 100,
          checkRecipient: () => undefined,
          send: async () => ({ messageId: await (await post(options.url ?? "")).text() }),
        }),
      },
      quiet: {
        schema: { type: "object" },
        create: () => ({ name: "quiet", limit: 1, checkRecipient() {}, send: async () => ({}) }),
      },
    },
    webhooks: {
      secretBy: "us",
      tokenVariables: ["BIRD"],
      tokenNeeds: "all",
      connect: ({ baseUrl = "" }) => ({
        find: async () => [(await post(baseUrl)).url],
        create: async () => (await fetch(baseUrl), { id: "1" }),
        update: async () => void (await post("not a URL")),
        remove: async () => void (await post(baseUrl)),
        health: async () => ({ isEnabled: true, notes: [] }),
      }),
    },
    readMessage: ({ payload: { by, text } }) => (by === undefined ? undefined : { ...MESSAGE, text: String(text) }),
  });
  const hooks = { events: ["sung"], id: "1" };
  const failed = testVendor(vendor, {
    channels: CHANNELS,
    hooks,
    messages: [{ event: EVENT, message: MESSAGE }],
    otherEvents: [EVENT],
  });
  const error = await rejectionOf(failed, AssertionError);
  expect(error.message.split("\n")).toEqual([
    "Bird:",
    "- channels.quiet has no double",
    "- channels.bird: send: a limit (429) must be retryable: Bird answered 429.",
    "- channels.bird: send: the page of a proxy is taken for a success",
    "- webhooks: find: a limit (429) must be retryable: Bird answered 429.",
    "- webhooks: find: the page of a proxy is taken for a success",
    ...["a limit (429)", "401", "403", "404", "500", "the page of a proxy"].map(
      (answer) => `- webhooks: create: ${answer} is taken for a success`,
    ),
    "- webhooks: update: sent no request to the double: Failed to parse URL from not a URL",
    "- webhooks: remove: a limit (429) must be retryable: Bird answered 429.",
    "- webhooks: remove: the page of a proxy is taken for a success",
    "- webhooks: health: sent no request to the double",
    "- readMessage: takes otherEvents[0] for a message",
    '- readMessage: takes messages[0] with by = null, "", 5, {}, [], [{}], true, ["ann"]',
    "- readMessage: takes messages[0] with text missing",
    '- readMessage: takes messages[0] with text = null, "", 5, {}, [], [{}], true',
  ]);
});

test("a vendor without its doubles is refused", async () => {
  const { webhooks, readMessage } = vendors["github"]!;
  const error = await rejectionOf(testVendor({ service: "Bird", webhooks, readMessage }, {}), AssertionError);
  expect(error.message).toBe(
    "Bird:\n- webhooks and openMissed have no double: hooks\n- readMessage needs messages and otherEvents",
  );
});
