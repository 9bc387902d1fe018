/** The mapping answers its sender with the reply of the run, as slash commands and TwiML need it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { parseXml } from "../src/core/ingress/parse-xml.ts";
import { createGate } from "./support/gate.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { createPostgresUrl, endLease, findNewNode } from "./support/postgres.ts";
import { startProcess } from "./support/process.ts";
import { createSender, SECRET, URL_OF_HOOK } from "./support/signatures.ts";
import { HOOK_TOKEN, openService, type Service, startService } from "./support/service.ts";

const JSON_ANSWER = { wait: 60, template: '{ "text": "{{reply}}", "to": {{json payload.user}} }' };
const ELSE = '{ "text": "I am on it, {{user}}." }';

const MAPPINGS: MappingInput[] = [
  mapping("json", { answer: { ...JSON_ANSWER, else: ELSE } }),
  mapping("usual", { answer: { ...JSON_ANSWER, wait: 1 } }),
  mapping("brief", { answer: { ...JSON_ANSWER, wait: 1, else: ELSE } }),
  mapping("xml", {
    answer: {
      wait: 60,
      contentType: "text/xml",
      template: '<Response><Message to="{{user}}">{{reply}}</Message></Response>',
    },
  }),
  mapping("plain", { answer: { wait: 60, contentType: "text/plain", status: 201, template: "{{user}}: {{reply}}" } }),
  mapping("each", { forEach: "items", answer: { ...JSON_ANSWER, else: ELSE } }),
  mapping("broken", { answer: { ...JSON_ANSWER, template: "{{#if reply}}no{{/if}}", else: ELSE } }),
];

function mapping(path: string, fields: Partial<MappingInput>): MappingInput {
  return {
    id: path,
    match: { path },
    dedupe: "{{id}}",
    messageTemplate: "{{text}}",
    deliver: false,
    ignore: [{ value: "{{text}}", is: "ignored", reason: "it is ignored" }],
    ...fields,
  };
}

let models: ModelServer;
beforeAll(async () => void (models = await startModels()));
afterAll(() => models.close());

/** Services of one test each. */
const services: Service[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

let events = 0;
/** An event of its own, in each service. */
const eventOf = (fields: object): object => ({ id: (events += 1), text: "x", user: "Ann", ...fields });

function configOf(store: UserConfig["store"]): UserConfig {
  return {
    store,
    hooks: { mappings: MAPPINGS },
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "local/small", maxAttempts: 1 },
    },
  };
}

async function start(): Promise<Service> {
  const service = await startService({ config: configOf(undefined) });
  services.push(service);
  return service;
}

interface Answer {
  status: number;
  type: string | null;
  text: string;
  isReplayed: boolean;
  isPreferenceApplied: boolean;
}

async function post(url: string, hook: string, payload: object, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${url}/hooks/${hook}`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(payload),
  });
  return toAnswer(response);
}

async function toAnswer(response: Response): Promise<Answer> {
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    text: await response.text(),
    isReplayed: response.headers.get("idempotency-replayed") === "true",
    isPreferenceApplied: response.headers.has("preference-applied"),
  };
}

const JSON_TYPE = "application/json; charset=utf-8";
const HOSTILE = `</Message><Redirect>http://evil</Redirect>]]>&amp;"'\\", "to": "evil\u0000\r\n\u2028{{user}}\ud800`;

describe("an answer", () => {
  let common: Service;
  beforeAll(async () => void (common = await startService({ config: configOf(undefined) })));
  afterAll(() => common.close());

  test("has the reply and the event, and takes precedence over Prefer", async () => {
    models.reply("It rains.");
    const answer = await post(common.url, "json", eventOf({ text: "Weather?" }), { prefer: "wait=5" });
    expect(answer).toMatchObject({ status: 200, type: JSON_TYPE, isPreferenceApplied: false });
    expect(JSON.parse(answer.text)).toEqual({ text: "It rains.", to: "Ann" });
  });

  test("a hostile reply and a hostile event stay values in JSON", async () => {
    models.reply(HOSTILE);
    const user = { '"': HOSTILE };
    const { text } = await post(common.url, "json", eventOf({ user }));
    expect(JSON.parse(text)).toEqual({ text: expect.stringContaining('"to": "evil'), to: user });
  });

  test("a hostile reply and a hostile event stay text in XML", async () => {
    models.reply(HOSTILE);
    const answer = await post(common.url, "xml", eventOf({ user: '"><Dial>+1</Dial>' }));
    expect(answer).toMatchObject({ status: 200, type: "text/xml; charset=utf-8" });
    expect(parseXml(Buffer.from(answer.text), null)).toEqual({
      Response: {
        Message: { $to: '"><Dial>+1</Dial>', $: expect.stringMatching(/^<\/Message><Redirect>http:\/\/evil.*&amp;/) },
      },
    });
  });

  test("plain text is inserted as it is, with the status of the mapping", async () => {
    models.reply('<b>"5" & 6</b>');
    expect(await post(common.url, "plain", eventOf({}))).toMatchObject({
      status: 201,
      type: "text/plain; charset=utf-8",
      text: 'Ann: <b>"5" & 6</b>',
    });
  });

  test.each([
    ["the run fails", "json", {}],
    ["the event leads to several runs", "each", { items: [1, 2] }],
    ["the event is skipped", "json", { text: "ignored" }],
  ])("is else if %s", async (_case, hook, fields) => {
    models.fail(400, "The prompt is empty.");
    const answer = await post(common.url, hook, eventOf(fields));
    expect(answer).toMatchObject({ status: 200, type: JSON_TYPE, text: '{ "text": "I am on it, Ann." }' });
  });

  test("is else if the template gives no JSON", async () => {
    models.reply("Yes.");
    expect(await post(common.url, "broken", eventOf({}))).toMatchObject({
      status: 200,
      text: '{ "text": "I am on it, Ann." }',
    });
  });

  test("is else at once if the run is held", async () => {
    models.reply("Yes.");
    const service = await start();
    const config = configOf(undefined);
    await service.reload({ ...config, agents: { ...config.agents, budget: { unit: "tokens", perDay: 1 } } });
    await post(service.url, "json", eventOf({}));
    const held = await post(service.url, "json", eventOf({ user: "Ben" }));
    expect(held.text).toBe('{ "text": "I am on it, Ben." }');
    expect((await service.api("/api/runs?state=held")).runs).toHaveLength(1);
  });

  test("a request that is refused gets the error", async () => {
    expect(await post(common.url, "json", { id: 1 })).toMatchObject({ status: 400 });
    expect(await post(common.url, "json", eventOf({}), { authorization: "Bearer wrong" })).toMatchObject({
      status: 401,
    });
  });

  test("ends with else when the service stops", async () => {
    const [asked, gate] = [createGate(), createGate()];
    models.reply("Late.", {
      hold() {
        asked.open();
        return gate.passed;
      },
    });
    const service = await start();
    const waiting = post(service.url, "json", eventOf({}));
    await asked.passed;
    const closing = service.hookline.close();
    expect((await waiting).text).toBe('{ "text": "I am on it, Ann." }');
    gate.open();
    await closing;
  });
});

describe("a preset", () => {
  async function postSigned(scheme: string, answer: MappingInput["answer"], body: string): Promise<Answer> {
    const sender = await createSender(scheme);
    const use = {
      use: scheme,
      with: { path: "in", secret: SECRET, deliver: false, answer, ...(scheme === "twilio" && { from: "anyone" }) },
    };
    const service = await startService({
      config: {
        ...configOf(undefined),
        gateway: { publicUrl: new URL(URL_OF_HOOK).origin },
        hooks: { presets: [use] },
      },
    });
    services.push(service);
    const contentType = "application/x-www-form-urlencoded";
    const bytes = Buffer.from(body);
    const { headers } = await sender.sign({
      method: "POST",
      url: URL_OF_HOOK,
      body: bytes,
      contentType,
      now: Date.now(),
    });
    const response = await fetch(`${service.url}/hooks/in`, {
      method: "POST",
      headers: { "content-type": contentType, ...headers },
      body: bytes,
    });
    return toAnswer(response);
  }

  test("answers a slash command of Slack", async () => {
    models.reply('<!channel> "now"');
    const answer = { wait: 3, template: '{ "text": { "type": "plain_text", "text": "{{reply}}" } }' };
    const body = "command=%2Fask&text=Weather%3F&user_name=ann&channel_id=C1&team_id=T1&trigger_id=1.2";
    const { status, text } = await postSigned("slack", answer, body);
    expect([status, JSON.parse(text)]).toEqual([200, { text: { type: "plain_text", text: '<!channel> "now"' } }]);
  });

  test("answers a message to Twilio with TwiML", async () => {
    models.reply("5 < 6 & more");
    const answer = {
      wait: 14,
      contentType: "text/xml",
      template: "<Response><Message>{{reply}}</Message></Response>",
    };
    const body = "From=%2B15550100&To=%2B15550101&Body=Hello&MessageSid=SM1&SmsStatus=received&SmsMessageSid=SM1";
    const { status, type, text } = await postSigned("twilio", answer, body);
    expect([status, type]).toEqual([200, "text/xml; charset=utf-8"]);
    expect(parseXml(Buffer.from(text), null)).toEqual({ Response: { Message: "5 < 6 & more" } });
  });

  test("cannot wait longer than its sender", async () => {
    const answer = { wait: 4, template: '{ "text": "{{reply}}" }' };
    await expect(postSigned("slack", answer, "")).rejects.toMatchObject({
      problems: [{ key: "hooks.presets[0].with.answer", message: expect.stringContaining("3000 ms that slack") }],
    });
  });
});

test.each([
  [{ wait: 61, template: '""' }, "answer.wait", "60"],
  [{ wait: 1, template: "{{reply}}" }, "answer.template", "in quotes"],
  [{ wait: 1, template: '""', else: '"{{reply}}"' }, "answer.else", "no reply"],
  [{ wait: 1, template: '""', contentType: "text/html" }, "answer.contentType", ""],
  [{ wait: 1, template: '""', status: 204 }, "answer.status", ""],
])("a configuration with %j is refused", async (answer, key, message) => {
  const hooks = { mappings: [mapping("json", { answer })] };
  await expect(startService({ config: { ...configOf(undefined), hooks } })).rejects.toMatchObject({
    problems: [{ key: `hooks.mappings[0].${key}`, message: expect.stringContaining(message) }],
  });
});

describe.each([
  ["SQLite", async () => undefined],
  ["PostgreSQL", async () => ({ url: await createPostgresUrl() })],
])("a repeat, with %s", (_name, createStore) => {
  let store: UserConfig["store"];
  let service: Service;
  beforeAll(async () => {
    store = await createStore();
    service = await startService({ config: configOf(store) });
  });
  afterAll(() => service.close());

  test("gets the same bytes, also after a restart and with another template", async () => {
    models.reply(HOSTILE);
    const payload = eventOf({});
    const first = await post(service.url, "json", payload);
    const again = await post(service.url, "json", payload);
    expect(again).toEqual({ ...first, isReplayed: true });

    const answer = { ...JSON_ANSWER, template: '{ "text": "changed" }' };
    await service.reload({ ...configOf(store), hooks: { mappings: [mapping("json", { answer })] } });
    service = await service.restart();
    expect(await post(service.url, "json", payload)).toEqual(again);
    expect((await post(service.url, "json", eventOf({}))).text).toBe('{ "text": "changed" }');
    await service.reload(configOf(store));
  });

  test.each([
    ["else", "brief", { status: 200, text: '{ "text": "I am on it, Ann." }' }],
    ["the usual answer", "usual", { status: 202, text: expect.stringContaining('"runId"') }],
  ])("gets %s again if the first one did not wait for the reply", async (_case, hook, expected) => {
    const gate = createGate();
    models.reply("Late.", { hold: () => gate.passed });
    const payload = eventOf({});
    const first = await post(service.url, hook, payload);
    expect(first).toMatchObject(expected);
    gate.open();
    const newest = `/api/events?hook=${hook}&limit=1`;
    await expect.poll(async () => (await service.api(newest)).events).toMatchObject([{ status: "done" }]);
    expect(await post(service.url, hook, payload)).toEqual({ ...first, isReplayed: true });
  });

  test("gets the reply if the service was killed before the first answer", async () => {
    const [asked, gate] = [createGate(), createGate()];
    models.reply("Back again.", {
      hold() {
        asked.open();
        return gate.passed;
      },
    });
    await service.hookline.close();
    const process = await startProcess(`${service.folder}/webhooks.json5`);
    const payload = eventOf({});
    const broken = post(process.url, "json", payload).catch(() => "broken");
    await asked.passed;
    await process.end("SIGKILL");
    if (store?.url !== undefined) await endLease(store.url, await findNewNode(store.url));
    expect(await broken).toBe("broken");
    gate.open();
    service = await openService(service.folder);
    const answers = await Promise.all([1, 2].map(() => post(service.url, "json", payload)));
    expect(answers[0]).toMatchObject({ status: 200, isReplayed: true });
    expect(JSON.parse(answers[0]?.text ?? "")).toEqual({ text: "Back again.", to: "Ann" });
    expect(answers[1]).toEqual(answers[0]);
  });
});
