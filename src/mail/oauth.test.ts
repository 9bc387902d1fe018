import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { startJsonServer } from "../../test/support/json-server.ts";
import { startTokenServer } from "../../test/support/token-server.ts";
import { mailFailureOf } from "../contracts/mail.ts";
import { createAccessTokens } from "./oauth.ts";
import type { RefreshTokens } from "../core/ports/mail-source.ts";

const CLIENT = { clientId: "hookline", clientSecret: "client-secret", refreshToken: "refresh-1" };
const never = new AbortController().signal;

test("sends a refresh request as in RFC 6749", async () => {
  const { tokenUrl, requests } = await startTokenServer({ access_token: "a" });
  const tokens = createAccessTokens({ ...CLIENT, tokenUrl, scope: "imap offline_access" });
  expect(await tokens.get(never)).toBe("a");
  expect(requests).toEqual([
    {
      grant_type: "refresh_token",
      refresh_token: "refresh-1",
      client_id: "hookline",
      client_secret: "client-secret",
      scope: "imap offline_access",
    },
  ]);
});

test("sends no secret and no scope that is not configured", async () => {
  const { tokenUrl, requests } = await startTokenServer({ access_token: "a" });
  await createAccessTokens({ clientId: "c", refreshToken: "r", tokenUrl }).get(never);
  expect(requests).toEqual([{ grant_type: "refresh_token", refresh_token: "r", client_id: "c" }]);
});

describe("a token", () => {
  test("is used while it is valid, and requested once for all who wait", async () => {
    const { tokenUrl, requests } = await startTokenServer({ access_token: "a", expires_in: 3600 });
    const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
    expect(await Promise.all([tokens.get(never), tokens.get(never)])).toEqual(["a", "a"]);
    expect(await tokens.get(never)).toBe("a");
    expect(requests).toHaveLength(1);
  });

  test("that is about to end is not used", async () => {
    const { tokenUrl, requests } = await startTokenServer({ access_token: "a", expires_in: 59 });
    const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
    await tokens.get(never);
    await tokens.get(never);
    expect(requests).toHaveLength(2);
  });

  test("that was refused is not returned again", async () => {
    const { tokenUrl } = await startTokenServer({ access_token: "a" }, { access_token: "b" });
    const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
    tokens.forget(await tokens.get(never));
    expect(await tokens.get(never)).toBe("b");
    tokens.forget("a");
    expect(await tokens.get(never)).toBe("b");
  });
});

test("a new refresh token replaces the old one", async () => {
  const { tokenUrl, requests } = await startTokenServer({
    access_token: "a",
    expires_in: 1,
    refresh_token: "refresh-2",
  });
  const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
  await tokens.get(never);
  await tokens.get(never);
  expect(requests.map((request) => request["refresh_token"])).toEqual(["refresh-1", "refresh-2"]);
});

describe("a stored refresh token", () => {
  const ROTATED = { access_token: "a", expires_in: 1, refresh_token: "refresh-2" };

  function createStored(): RefreshTokens & { tokens: Map<string, string> } {
    const tokens = new Map<string, string>();
    return {
      tokens,
      find: async (configured) => tokens.get(configured),
      replace: async (configured, token) => void tokens.set(configured, token),
    };
  }

  test("is used after a restart, until another one is configured", async () => {
    const { tokenUrl, requests } = await startTokenServer(ROTATED);
    const stored = createStored();
    await createAccessTokens({ ...CLIENT, tokenUrl }).get(never, stored);
    await createAccessTokens({ ...CLIENT, tokenUrl }).get(never, stored);
    await createAccessTokens({ ...CLIENT, refreshToken: "refresh-9", tokenUrl }).get(never, stored);
    expect(requests.map((request) => request["refresh_token"])).toEqual(["refresh-1", "refresh-2", "refresh-9"]);
  });

  test("that is refused gives way to the configured one", async () => {
    const { tokenUrl, requests } = await startTokenServer({ status: 400, body: { error: "invalid_grant" } }, ROTATED);
    const stored = createStored();
    stored.tokens.set("refresh-1", "from-a-backup");
    expect(await createAccessTokens({ ...CLIENT, tokenUrl }).get(never, stored)).toBe("a");
    expect(requests.map((request) => request["refresh_token"])).toEqual(["from-a-backup", "refresh-1"]);
    expect(stored.tokens.get("refresh-1")).toBe("refresh-2");
  });

  test("that cannot be written is written at the next attempt", async () => {
    const { tokenUrl } = await startTokenServer(ROTATED, { ...ROTATED, refresh_token: "refresh-3" });
    const stored = createStored();
    const full = { ...stored, replace: () => Promise.reject(new Error("disk is full")) };
    const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
    await expect(tokens.get(never, full)).rejects.toThrow("disk is full");
    expect(await tokens.get(never, stored)).toBe("a");
    expect(stored.tokens.get("refresh-1")).toBe("refresh-3");
  });

  test("that cannot be written is written at the next attempt, also if the server keeps it from then on", async () => {
    const { tokenUrl } = await startTokenServer(ROTATED, { access_token: "b", expires_in: 3600 });
    const stored = createStored();
    const full = { ...stored, replace: () => Promise.reject(new Error("disk is full")) };
    const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
    await expect(tokens.get(never, full)).rejects.toThrow("disk is full");
    expect(await tokens.get(never, stored)).toBe("b");
    expect(stored.tokens.get("refresh-1")).toBe("refresh-2");
  });
});

test("an id token is ignored", async () => {
  const { tokenUrl } = await startTokenServer({ access_token: "a", id_token: "of.someone.else" });
  expect(await createAccessTokens({ ...CLIENT, tokenUrl }).get(never)).toBe("a");
});

describe("a refusal", () => {
  test.each(["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"])(
    "with %s is a login error",
    async (error) => {
      const body = { error, error_description: "AADSTS70008: refresh-1\nhas expired, client-secret is right." };
      const { tokenUrl } = await startTokenServer({ status: 400, body });
      const failure = await mailFailureOf(createAccessTokens({ ...CLIENT, tokenUrl }).get(never));
      const reason = `${error}: AADSTS70008: … has expired, … is right. Run`;
      expect(failure).toMatchObject({ kind: "login", message: expect.stringContaining(reason) });
    },
  );

  test.each([
    { status: 503, body: { error: "server_error" } },
    { status: 429, body: { error: "slow_down" } },
    { status: 400, body: { error: "temporarily_unavailable" } },
    { status: 502, body: "no JSON" },
    { status: 200, body: {} },
  ])("that is temporary is a network error: %#", async (answer) => {
    const { tokenUrl } = await startTokenServer(answer);
    const failure = await mailFailureOf(createAccessTokens({ ...CLIENT, tokenUrl }).get(never));
    expect(failure).toMatchObject({ kind: "network" });
  });

  test("contains no secret, and is not remembered", async () => {
    const { tokenUrl } = await startTokenServer(
      { status: 400, body: { error: "invalid_grant" } },
      { access_token: "a" },
    );
    const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
    const failure = inspect(await mailFailureOf(tokens.get(never)), { depth: null, showHidden: true });
    expect(failure).not.toContain("client-secret");
    expect(failure).not.toContain("refresh-1");
    expect(await tokens.get(never)).toBe("a");
  });
});

test("an unreachable server is a network error", async () => {
  const server = await startJsonServer(() => ({ status: 200, body: {} }));
  await server.close();
  const tokens = createAccessTokens({ ...CLIENT, tokenUrl: server.url });
  const message = expect.stringContaining("ECONNREFUSED");
  expect(await mailFailureOf(tokens.get(never))).toMatchObject({ kind: "network", message });
});

test("sends no secret in clear to another machine", async () => {
  const tokens = createAccessTokens({ ...CLIENT, tokenUrl: "http://login.example.com/token" });
  expect(await mailFailureOf(tokens.get(never))).toMatchObject({ message: expect.stringContaining("https://") });
});

test("an abort ends only its own wait", async () => {
  const { tokenUrl } = await startTokenServer({ access_token: "a" });
  const tokens = createAccessTokens({ ...CLIENT, tokenUrl });
  const abort = new AbortController();
  const [first, second] = [tokens.get(abort.signal), tokens.get(never)];
  abort.abort(new Error("Enough."));
  await expect(first).rejects.toThrow("Enough.");
  expect(await second).toBe("a");
  await expect(tokens.get(abort.signal)).rejects.toThrow("Enough.");
});
