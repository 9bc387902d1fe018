/** Stored events under today's configuration and a changed one. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { runWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

const mappings = [
  { id: "ci", match: { path: "ci" }, sessionKey: "ci:{{branch}}", messageTemplate: "{{text}}", deliver: false },
  { id: "own", match: { path: "own" }, messageTemplate: "{{text}}", deliver: false },
  { id: "code", match: { path: "code" }, transform: { module: "code.ts" }, deliver: false },
  { id: "secret", match: { path: "secret" }, messageTemplate: "{{headers.x-api-key}} {{text}}", deliver: false },
] satisfies NonNullable<UserConfig["hooks"]>["mappings"];
const files = {
  "transforms/code.ts": "export default ({ payload }) => ({ message: payload.text });",
  "new/code.ts":
    "export default ({ payload }) => payload.text === 'draft' ? null : { message: payload.text.title.trim() };",
};

let service: Service;
beforeAll(async () => {
  service = await startService({ config: { hooks: { mappings } }, files });
  await service.post("ci", { branch: "main", text: "red" });
  await service.post("ci", { branch: "main", text: "" });
  await service.post("own", { text: "green" });
  await service.post("code", { text: "draft" });
  await service.post("code", { text: "plain" });
  await service.post("secret", { text: "t" }, { "x-api-key": "a-secret-of-the-sender" });
});
afterAll(() => service.close());

async function diff(hooks: UserConfig["hooks"], ...args: string[]) {
  const port = Number(new URL(service.url).port);
  service.write("new.json5", JSON.stringify(withTokens({ hooks: { mappings, ...hooks } })));
  service.write("webhooks.json5", JSON.stringify(withTokens({ gateway: { port }, hooks: { mappings } })));
  return runWebhooks(service.folder, "diff", "--config", "new.json5", ...args);
}

function change(id: string, fields: object): UserConfig["hooks"] {
  return { mappings: mappings.map((mapping) => (mapping.id === id ? { ...mapping, ...fields } : mapping)) };
}

test("the same mappings give the same actions, own sessions included", async () => {
  const { code, stdout } = await diff({}, "--fail-on", "changed");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "6 events: 6 equal\n" });
});

test("differences are grouped by what changes, with an example", async () => {
  const { stdout } = await diff(change("ci", { sessionKey: "builds:{{branch}}" }));
  expect(stdout).toMatch(/^6 events: 5 equal · 1 changed\n\n1 in another session\n/);
  expect(stdout).toMatch(/- +sessionKey: ci:main\n.*\+ +sessionKey: builds:main/s);
});

test("a difference names only fields that the configuration has", async () => {
  const { stdout } = await diff(change("ci", { name: "{{branch}}" }));
  expect(stdout).toMatch(/\n1 with another name\n/);
  expect(stdout).not.toContain("trustedName");
});

describe("events that are", () => {
  test("skipped or refused now, by a transform in another folder", async () => {
    const { code, stdout } = await diff({ transformsDir: "new" }, "--hook", "code", "--json", "--fail-on", "failing");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      events: 2,
      equal: 0,
      skipped: 1,
      failing: 1,
      groups: expect.arrayContaining([
        expect.objectContaining({ kind: "skipped", label: "now skipped: the transform gave no action", count: 1 }),
        expect.objectContaining({ kind: "failing", label: expect.stringMatching(/^now refused: transform_failed: /) }),
      ]),
    });
  });

  test("accepted now", async () => {
    const { stdout } = await diff(change("ci", { messageTemplate: "{{default text 'nothing'}}" }));
    expect(stdout).toContain("1 now with an action");
  });

  test("dependent on a redacted value are unknown, not different", async () => {
    const { stdout } = await diff(change("secret", { messageTemplate: "key {{headers.x-api-key}}: {{text}}" }));
    expect(stdout).toBe("6 events: 5 equal · 1 unknown, because of redacted values\n");
    expect((await diff(change("secret", { messageTemplate: "{{text}}!", name: "n" }))).stdout).toContain("unknown");
  });
});

test("nothing is recorded, and an older time finds nothing", async () => {
  const before = await service.api("/api/status");
  expect((await diff({}, "--since", "2100-01-01")).stdout).toBe("No stored events match.\n");
  await diff(change("ci", { sessionKey: "x" }));
  expect((await service.api("/api/status")).queue).toEqual(before.queue);
});

test("today's configuration cannot be its own change, and an invalid one is explained", async () => {
  await diff({});
  expect(await runWebhooks(service.folder, "diff", "--config", "webhooks.json5")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("name a changed copy"),
  });
  expect(await diff(change("ci", { sessionKy: "x" }))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("did you mean"),
  });
});

describe("POST /api/diff", () => {
  async function post(body: object, { url } = service) {
    const response = await fetch(`${url}/api/diff`, {
      method: "POST",
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  }

  test("compares with the mappings of another configuration, whose references stay text", async () => {
    const secret = { auth: { scheme: "github", secret: "${NO_SUCH_VARIABLE}" } };
    const changed = mappings.map((mapping) => ({ ...mapping, ...(mapping.id === "own" && { name: "${HOME}" }) }));
    const config = { hooks: { mappings: [{ ...changed[0], ...secret }, ...changed.slice(1)] } };
    const { status, body } = await post({ config });
    expect(status).toBe(200);
    expect(body).toMatchObject({ events: 6, equal: 5, changed: 1, groups: [{ label: "with another name" }] });
    expect(JSON.stringify(body)).toContain("${HOME}");
    expect(await post({ config: { hooks: { presets: ["github"] } }, hook: "own" })).toMatchObject({
      body: { events: 1, failing: 1 },
    });
  });

  test("an event keeps its credential, where one path has two", async () => {
    const one = { match: { path: "both" }, deliver: false };
    const auth = { scheme: "token", secret: "the-token-of-one-mapping" } as const;
    const both = [
      { ...one, id: "own", messageTemplate: "own", auth },
      { ...one, id: "shared", messageTemplate: "shared" },
    ];
    const other = await startService({ config: { hooks: { mappings: both } } });
    onTestFinished(() => other.close());
    await other.post("both", {});
    await other.post("both", {}, { authorization: `Bearer ${auth.secret}` });
    for (const [body, expected] of [
      [{}, { equal: 2 }],
      [{ mapping: { id: "own", name: "n" } }, { equal: 1, changed: 1 }],
      [{ config: { hooks: { mappings: [{ ...both[0], name: "n" }, both[1]] } } }, { equal: 1, changed: 1 }],
    ] as const) {
      expect(await post(body, other)).toMatchObject({ body: { events: 2, ...expected } });
    }
  });

  test("compares with a draft of one mapping and its code", async () => {
    const code = "export default ({ payload }) => (payload.text === 'draft' ? null : { message: payload.text });";
    const { body } = await post({ since: "1h", hook: "code", mapping: { id: "code" }, files: { "code.ts": code } });
    expect(body).toMatchObject({ events: 2, equal: 1, skipped: 1 });
  });

  test("without either, compares what was recorded with the loaded configuration", async () => {
    expect(await post({ since: "1h" })).toMatchObject({ status: 200, body: { events: 6, equal: 6 } });
    await service.reload({ hooks: change("ci", { action: "wake", textTemplate: "x", messageTemplate: undefined }) });
    const { body } = await post({ since: "1h" });
    expect(body).toMatchObject({ equal: 4, changed: 1, acting: 1 });
    await service.reload({ hooks: { mappings } });
  });

  test("refuses what it cannot use", async () => {
    for (const [body, sentence] of [
      [{ config: {}, mapping: { id: "ci" } }, /config|mapping/],
      [{ config: { hooks: { mappings: [{ mesageTemplate: "x" }] } } }, /hooks\.mappings\[0\]/],
      [{ mapping: { id: "ci" }, since: "yesterday" }, /since must be/],
    ] as const) {
      const answer = await post(body);
      expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(sentence) } });
    }
    expect((await service.api("/api/events?limit=10")).events).toHaveLength(6);
  });
});
