import { describe, expect, test } from "vitest";
import { resolve } from "../../../test/support/mapping.ts";

function refused(field: string): object {
  return { status: 400, code: "invalid_payload", message: expect.stringContaining(field) };
}

describe("wake", () => {
  test("makes a wake of its text", async () => {
    const { actions, mapping, warnings } = await resolve("wake", {
      text: " Door opened ",
      mode: "next-heartbeat",
    });
    expect(actions).toEqual([
      { kind: "wake", text: " Door opened ", mode: "next-heartbeat", allowUnsafeExternalContent: false },
    ]);
    expect(mapping).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test("mode defaults to now", async () => {
    expect((await resolve("wake", { text: "x" })).actions).toMatchObject([{ mode: "now" }]);
  });

  test.each([
    [{}, "text"],
    [{ text: "" }, "text"],
    [{ text: " \n\t" }, "text"],
    [{ text: null }, "text"],
    [{ text: ["x"] }, "text"],
    [{ text: "x", mode: "later" }, "mode"],
    [{ text: "x", mode: null }, "mode"],
    [{ text: "x", idempotencyKey: 5 }, "idempotencyKey"],
    [[], "payload"],
    [null, "payload"],
    ["text", "payload"],
    [Object.create({ text: "inherited" }), "text"],
  ])("refuses %j", async (payload, field) => {
    await expect(resolve("wake", payload)).rejects.toMatchObject(refused(field));
  });
});

describe("agent", () => {
  test("knows a channel by its other name", async () => {
    const { actions } = await resolve("agent", { message: "Hi", channel: "teams" });
    expect(actions).toMatchObject([{ channel: "msteams" }]);
  });

  test("fills in the defaults", async () => {
    const { actions } = await resolve("agent", { message: "Hi" });
    expect(actions).toEqual([
      {
        kind: "agent",
        message: "Hi",
        name: "agent",
        trustedName: true,
        sessionKey: expect.stringMatching(/^hook:[0-9a-f-]{36}$/),
        wakeMode: "now",
        deliver: true,
        channel: "last",
        routeBy: "request",
        timeoutSeconds: 600,
        allowUnsafeExternalContent: false,
      },
    ]);
  });

  test("uses every field of its payload", async () => {
    const fields = {
      sessionKey: "crm:1",
      wakeMode: "next-heartbeat",
      deliver: false,
      channel: "slack",
      to: "C1",
    };
    const turn = { message: "Hi", name: "CRM", model: "a/b", thinking: "high", timeoutSeconds: 1.5 };
    const { actions } = await resolve("agent", { ...turn, ...fields });
    expect(actions).toEqual([expect.objectContaining({ ...turn, ...fields })]);
  });

  test("uses the defaults of the configuration", async () => {
    const config = { agents: { defaults: { model: "a/b", thinking: "low", timeoutSeconds: 7 } } };
    const { actions } = await resolve("agent", { message: "Hi" }, { config });
    expect(actions).toMatchObject([{ model: "a/b", thinking: "low", timeoutSeconds: 7 }]);
  });

  test.each([
    [{}, "message"],
    [{ message: "  " }, "message"],
    [{ message: 1 }, "message"],
    [{ message: "x", name: {} }, "name"],
    [{ message: "x", sessionKey: 5 }, "sessionKey"],
    [{ message: "x", wakeMode: "soon" }, "wakeMode"],
    [{ message: "x", deliver: "yes" }, "deliver"],
    [{ message: "x", channel: "fax" }, "channel"],
    [{ message: "x", to: 7 }, "to"],
    [{ message: "x", model: 1 }, "model"],
    [{ message: "x", thinking: [] }, "thinking"],
    [{ message: "x", timeoutSeconds: 0 }, "timeoutSeconds"],
    [{ message: "x", timeoutSeconds: -1 }, "timeoutSeconds"],
    [{ message: "x", timeoutSeconds: "60" }, "timeoutSeconds"],
    [{ message: "x", timeoutSeconds: JSON.parse("1e400") }, "timeoutSeconds must be a number, not one that is"],
  ])("refuses %j", async (payload, field) => {
    await expect(resolve("agent", payload)).rejects.toMatchObject(refused(field));
  });

  test("treats a blank optional field as absent", async () => {
    const blank = { sessionKey: "", to: " ", model: "", thinking: "", name: "" };
    const { actions } = await resolve("agent", { message: "x", ...blank });
    expect(actions).toMatchObject([{ name: "agent", sessionKey: expect.stringMatching(/^hook:/) }]);
    expect(actions[0]).toMatchObject({ to: undefined, model: undefined, thinking: undefined });
  });

  test("cannot switch off the safety boundary or set instructions", async () => {
    const sneaky = { message: "x", allowUnsafeExternalContent: true, instructions: "obey", kind: "wake" };
    const { actions, warnings } = await resolve("agent", sneaky);
    expect(actions).toMatchObject([{ kind: "agent", allowUnsafeExternalContent: false }]);
    expect(actions[0]?.instructions).toBeUndefined();
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toContain('"allowUnsafeExternalContent"');
  });

  test("warns about unknown fields, limited in number and length", async () => {
    const names = Array.from({ length: 100 }, (_, index) => [`${index}-${"x".repeat(500)}`, 1]);
    const { warnings } = await resolve("agent", { message: "x", ...Object.fromEntries(names) });
    expect(warnings).toHaveLength(20);
    expect(warnings.join("").length).toBeLessThan(3000);
  });

  test.each([
    ["two\nlines\u0000 of\u2028text ", "two lines of text"],
    ["  ", "agent"],
    ["😀".repeat(90), "😀".repeat(80)],
  ])("turns the name %j into one line", async (name, expected) => {
    const { actions } = await resolve("agent", { message: "x", name });
    expect(actions).toMatchObject([{ name: expected }]);
  });

  test("warns that echo answers for a model while no provider is configured", async () => {
    const warning = "The model was not used: no provider is configured, so the built-in echo answers.";
    expect((await resolve("agent", { message: "x", model: "a/b" })).warnings).toEqual([warning]);
    const mappings = [{ messageTemplate: "x", model: "{{model}}" }];
    expect((await resolve("order", { model: "a/b" }, { mappings })).warnings).toEqual([warning]);
    expect((await resolve("order", {}, { mappings })).warnings).toEqual([]);
    const config = { agents: { providers: { a: { kind: "echo" } } } } as const;
    expect((await resolve("agent", { message: "x", model: "a/b" }, { config })).warnings).toEqual([]);
  });

  test("applies the policy for session keys and models", async () => {
    const hooks = { allowRequestSessionKey: false };
    const agents = { defaults: { models: ["a/b"] } };
    const keyed = resolve("agent", { message: "x", sessionKey: "k" }, { config: { hooks } });
    await expect(keyed).rejects.toMatchObject({ status: 400, code: "session_key_refused" });
    const foreign = resolve("agent", { message: "x", model: "c/d" }, { config: { agents } });
    await expect(foreign).rejects.toMatchObject({ status: 400, code: "model_not_allowed" });
    const { actions } = await resolve("agent", { message: "x", sessionKey: "\n Main " });
    expect(actions).toMatchObject([{ sessionKey: "hook:main" }]);
  });
});
