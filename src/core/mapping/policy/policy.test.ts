import { describe, expect, test } from "vitest";
import { resolve, toConfig } from "../../../../test/support/mapping.ts";
import type { UserConfig } from "../../config/schema/generated.ts";
import { resolveTurnSettings } from "./policy.ts";

describe("session keys", () => {
  const closed = { allowRequestSessionKey: false };
  const prefixed = { allowedSessionKeyPrefixes: ["hook:", "crm:"], defaultSessionKey: "hook:all" };
  const refused = { status: 400, code: "session_key_refused", message: expect.stringMatching(/^sessionKey /) };

  test("a request's key is used unchanged", async () => {
    expect(await requested("crm:42 Äöü")).toBe("crm:42 Äöü");
  });

  test.each(["main", "MAIN", "Main"])("%s is not the main session", async (key) => {
    expect(await requested(key)).toBe("hook:main");
  });

  test("without a key the default is used, or else a random one", async () => {
    expect(await requested(undefined, closed)).toMatch(/^hook:[0-9a-f-]{36}$/);
    expect(await requested(undefined, closed)).not.toBe(await requested(undefined, closed));
    expect(await requested(undefined, prefixed)).toBe("hook:all");
  });

  test.each(["a\nb", "a\u0000b", "a\u2028b", "a\u009bb", "a\uD800b", "x".repeat(257)])("%j is refused", async (key) => {
    await expect(configured("{{key}}", {}, { key })).rejects.toMatchObject(refused);
  });

  test("where a request may not choose, its key is refused and the operator's is not", async () => {
    await expect(requested("crm:42", closed)).rejects.toMatchObject(refused);
    expect(await configured("crm:42", closed)).toBe("crm:42");
  });

  test("every key must start with an allowed prefix", async () => {
    expect(await requested("crm:42", prefixed)).toBe("crm:42");
    await expect(requested("xcrm:42", prefixed)).rejects.toMatchObject(refused);
    await expect(configured("CRM:42", prefixed)).rejects.toMatchObject(refused);
    await expect(requested("main", prefixed)).rejects.toMatchObject(refused);
  });

  async function requested(sessionKey: string | undefined, hooks?: UserConfig["hooks"]): Promise<unknown> {
    const { actions } = await resolve("agent", { message: "x", sessionKey }, { config: { hooks } });
    return actions[0]?.kind === "agent" && actions[0].sessionKey;
  }

  async function configured(sessionKey: string, hooks?: UserConfig["hooks"], payload = {}): Promise<unknown> {
    const mappings = [{ messageTemplate: "x", sessionKey }];
    const { actions } = await resolve("shop", payload, { mappings, config: { hooks } });
    return actions[0]?.kind === "agent" && actions[0].sessionKey;
  }
});

describe("names", () => {
  test.each<[string, { name?: string; match?: { path: string } }, { trusted: boolean }]>([
    ["a static name", { name: "CI" }, { trusted: true }],
    ["a templated name", { name: "CI {{title}}" }, { trusted: false }],
    ["the path of the mapping", { match: { path: "shop" } }, { trusted: true }],
    ["the path of the request", {}, { trusted: false }],
    ["a blank static name", { name: " " }, { trusted: false }],
  ])("%s", async (_case, mapping, { trusted }) => {
    const payload = { title: "x" };
    const { actions } = await resolve("shop", payload, { mappings: [{ messageTemplate: "x", ...mapping }] });
    expect(actions).toMatchObject([{ trustedName: trusted || undefined }]);
  });

  test("a payload's name is not the operator's", async () => {
    const named = await resolve("agent", { message: "x", name: "CI" });
    expect(named.actions).toMatchObject([{ name: "CI", trustedName: undefined }]);
    expect((await resolve("agent", { message: "x" })).actions).toMatchObject([{ name: "agent", trustedName: true }]);
  });
});

describe("models", () => {
  const free = { defaults: { model: "local/small" } };
  const listed = { defaults: { model: "opus", models: ["local/small", { id: "anthropic/large", alias: "opus" }] } };

  test("without a list any model can be named", async () => {
    expect(await modelOf("some/model", free)).toBe("some/model");
    expect(await modelOf(undefined, free)).toBe("local/small");
    expect(await modelOf(undefined, {})).toBeUndefined();
  });

  test("a list accepts ids and aliases, and gives ids", async () => {
    expect(await modelOf("local/small", listed)).toBe("local/small");
    expect(await modelOf("opus", listed)).toBe("anthropic/large");
    expect(await modelOf(undefined, listed)).toBe("anthropic/large");
  });

  test.each(["other/model", "OPUS"])("%j is not on the list", async (name) => {
    const refused = { status: 400, code: "model_not_allowed", message: expect.stringContaining("model") };
    await expect(modelOf(name, listed)).rejects.toMatchObject(refused);
  });

  test("a turn without a hook takes the defaults", () => {
    const agents = toConfig({
      agents: { defaults: { ...listed.defaults, thinking: "low", timeoutSeconds: 7 } },
    }).agents;
    expect(resolveTurnSettings({}, agents)).toEqual({ model: "anthropic/large", thinking: "low", timeoutSeconds: 7 });
  });

  async function modelOf(model: string | undefined, agents: UserConfig["agents"]): Promise<unknown> {
    const { actions } = await resolve("agent", { message: "x", model }, { config: { agents } });
    return actions[0]?.kind === "agent" && actions[0].model;
  }
});
