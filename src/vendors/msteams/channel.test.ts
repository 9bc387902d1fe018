import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { msteamsError, type MsteamsServer, startMsteams } from "../../../test/support/msteams.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { startTeamsPlayground, type TeamsPlayground } from "../../../test/support/teams-playground.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createMsteams, createSignIn } from "./channel.ts";

describe("msteams", () => {
  describeRemoteChannel({ describe, test }, "msteams", open);

  describe("with Microsoft's own chat window", () => {
    let playground: TeamsPlayground;
    beforeAll(async () => void (playground = await startTeamsPlayground()));
    afterAll(() => playground.close());

    describeRemoteChannel({ describe, test }, "msteams, Agents Playground", () => openPlayground(playground));
  });

  describe("msteams", () => {
    const never = new AbortController().signal;

    test.each(["19:abc123@thread.tacv2", "19:abc@unq.gbl.spaces", "a:1pL6i0oY3C0K8oAj8-_x"])(
      "%s is a recipient",
      (to) => {
        expect(() => createMsteams({ appId: "1", appPassword: "p" }).checkRecipient(to)).not.toThrow();
      },
    );

    test("gets a new token after the old one was revoked", async () => {
      const teams = await startMsteams();
      const channel = createMsteams(teams);
      const message = { to: teams.conversation, text: "Hello.", idempotencyKey: "1" };
      await channel.send(message, never);
      teams.revokeTokens();
      expect(await failureOf(channel.send(message, never))).toMatchObject({ retryable: true });
      await channel.send(message, never);
      expect(teams.tokenCount()).toBe(2);
      await teams.close();
    });

    test("the error shows the code of the service", async () => {
      const teams = await startMsteams();
      const channel = createMsteams(teams);
      const error = await failureOf(
        channel.send({ to: "19:unknown@thread.v2", text: "Hello.", idempotencyKey: "1" }, never),
      );
      expect(error.message).toContain("Teams answered 404: ConversationNotFound. Check the recipient");
      await teams.close();
    });

    test("the error does not show the password, even when the sign-in quotes it", async () => {
      const teams = await startMsteams();
      const channel = createMsteams({ ...teams, appPassword: "teams-secret" });
      const error = await failureOf(
        channel.send({ to: teams.conversation, text: "Hello.", idempotencyKey: "1" }, never),
      );
      expect(error).toMatchObject({
        retryable: false,
        message:
          "Microsoft's sign-in answered 401: invalid_client: AADSTS7000215: Invalid client secret provided: …. Check channels.msteams.appId, appPassword and tenantId.",
      });
      expect(inspect(error, { depth: null })).not.toContain("teams-secret");
      await teams.close();
    });
  });

  async function open(): Promise<RemoteChannelUnderTest> {
    const teams = await startMsteams();
    const messages = async (): Promise<string[]> => teams.messages();
    return openTeams(teams, { ...teams, messages });
  }

  /** The playground has no sign-in. */
  async function openPlayground({ messages, ...playground }: TeamsPlayground): Promise<RemoteChannelUnderTest> {
    const earlier = (await messages()).length;
    const ownMessages = async (): Promise<string[]> => (await messages()).slice(earlier);
    const opened = await openTeams(await startMsteams(), { ...playground, messages: ownMessages });
    // The window takes an edit and shows the earlier text.
    return { ...opened, channel: { ...opened.channel, canUpdate: false, remove: undefined } };
  }

  async function openTeams(
    signIn: MsteamsServer,
    { baseUrl, conversation, messages }: Pick<TeamsPlayground, "baseUrl" | "conversation" | "messages">,
  ): Promise<RemoteChannelUnderTest> {
    const { url, ...faultable } = await openFaultServer(signIn, baseUrl);
    return {
      ...faultable,
      channel: createMsteams({ ...signIn, baseUrl: url }),
      to: conversation,
      unknown: "19:unknown@thread.tacv2",
      malformed: ["", " ", "19:", "19:a b@thread.v2", "29:1bSgG1", "#general", "19:../../x", "ada@example.org"],
      received: messages,
      faults: {
        rateLimited: refusal(429, "Throttled", { "retry-after": "7" }),
        retryAfterMs: 7000,
        refusedForGood: refusal(403, "BotNotInConversationRoster"),
        brokenDown: refusal(503, "ServiceUnavailable"),
      },
    };
  }

  function refusal(status: number, code: string, headers: Record<string, string> = {}): Fault {
    return { kind: "answer", status, headers, body: JSON.stringify(msteamsError(status, code).body) };
  }
});

describe("msteams token", () => {
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

  const open = () => createSignIn({ ...teams, tokenUrl: proxy.url });

  test("parallel and later callers get the same token", async () => {
    const tokens = open();
    const got = await Promise.all([tokens.get(never), tokens.get(never), tokens.get(never)]);
    expect([...got, await tokens.get(never)]).toEqual(Array(4).fill("token-0"));
    expect(teams.tokenCount()).toBe(1);
  });

  test("a token that expires soon is not used again", async () => {
    const tokens = open();
    teams.setLifetime(299);
    expect(await tokens.get(never)).toBe("token-0");
    teams.setLifetime(3600);
    expect(await tokens.get(never)).toBe("token-1");
    expect(await tokens.get(never)).toBe("token-1");
  });

  test("a forgotten token is not used again", async () => {
    const tokens = open();
    await tokens.get(never);
    tokens.forget("another");
    expect(await tokens.get(never)).toBe("token-0");
    tokens.forget("token-0");
    expect(await tokens.get(never)).toBe("token-1");
  });

  test("a failure is not cached", async () => {
    const tokens = open();
    proxy.inject({ kind: "answer", status: 503 });
    expect(await failureOf(tokens.get(never))).toMatchObject({ retryable: true });
    proxy.inject();
    expect(await tokens.get(never)).toBe("token-0");
  });

  test("an aborted caller does not affect the others", async () => {
    const tokens = open();
    const abort = new AbortController();
    const first = failureOf(tokens.get(abort.signal));
    const second = tokens.get(never);
    abort.abort();
    expect(await first).toMatchObject({ retryable: true });
    expect(await second).toBe("token-0");
  });

  test("an abort ends the wait for the sign-in", async () => {
    const tokens = open();
    proxy.inject({ kind: "hang" });
    expect(await failureOf(tokens.get(AbortSignal.timeout(50)))).toMatchObject({ retryable: true });
  });
});

const PLACE = "19:general@thread.tacv2";
const TOKEN = { "/token": { access_token: "t", expires_in: 3600 } };

describeRefusals("Teams", {
  // The next attempt after a 401 gets a new token.
  uses: {
    "a message": { call: (baseUrl) => sendAt(baseUrl), before: TOKEN, expected: [401] },
    "an edited message": { call: (baseUrl) => sendAt(baseUrl, { replaces: "1" }), before: TOKEN, expected: [401] },
    "a removed message": {
      call: async (baseUrl) => channelAt(baseUrl).remove?.(PLACE, "1", AbortSignal.timeout(600_000)),
      before: TOKEN,
      expected: [401, 404],
    },
  },
  limits: {
    "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
    "of a conversation": { status: 412, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
  refusal: { error: { code: "No.", message: "No." } },
});

describeRefusals("Microsoft's sign-in", {
  uses: { "a token": { call: (baseUrl) => sendAt(baseUrl) } },
  limits: { "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 } },
  refusal: { error: "No." },
});

function channelAt(baseUrl: string) {
  return createMsteams({ appId: "1", appPassword: "s", baseUrl, tokenUrl: `${baseUrl}token` });
}

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return channelAt(baseUrl).send(
    { to: "19:general@thread.tacv2", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );
}
