import { afterEach, describe, expect, test } from "vitest";
import { startJsonServer } from "../../test/support/json-server.ts";
import { startVendor, TOKEN, type VendorServer } from "../../test/support/vendors/hook-vendors.ts";
import { accessTo } from "../../test/support/vendors/refusals.ts";
import { compileTemplate } from "../core/mapping/template/template.ts";
import { isObject } from "../core/shared/json.ts";
import { silentLog } from "../core/telemetry/log.ts";
import { vendors } from "./index.ts";

const HOSTILE = [
  ["a path", "../../v1/charges?x="],
  ["a way up", ".."],
  ["a character that turns text around", "7\u202E"],
  ["an escape sequence", "\u001b[2J7"],
  ["no text", ""],
  ["a long text", "7".repeat(10_000)],
] as const;
const UNREADABLE = /could not be read/;
const url = "https://hooks.example.com/hooks/x";

let close = async (): Promise<void> => undefined;
afterEach(() => close());

describe("an id that a service has given a webhook", () => {
  const PLACES: Record<string, string> = { shopify: "acme", zendesk: "acme", azuredevops: "acme/My shop" };
  const EVENTS: Record<string, string> = { shopify: "orders/create", azuredevops: "git.push", linear: "Issue.create" };
  // Telegram's webhooks have no ids.
  const names = Object.keys(vendors).filter((name) => vendors[name]?.webhooks && name !== "telegram");

  async function open(name: string) {
    const double = await startVendor(name);
    close = double.close;
    const access = accessTo(double.url, { token: TOKEN, place: PLACES[name] ?? "acme/app" });
    return { double, hooks: vendors[name]!.webhooks!.connect(access) };
  }

  test.each(names)("%s: is used", async (name) => {
    const { double, hooks } = await open(name);
    const { id } = await hooks.create({ url, secret: "a:b", events: [EVENTS[name] ?? "issue.open"], all: false });
    expect(await hooks.find(url)).toEqual([id]);
    await hooks.remove(id);
    expect(double.hooks).toEqual([]);
  });

  describe.each(HOSTILE)("is %s", (_, hostile) => {
    test.each(names)("%s: is not used", async (name) => {
      const { double, hooks } = await open(name);
      setIds(double, hostile);
      const wanted = { url, secret: "a:b", events: [EVENTS[name] ?? "issue.open"], all: false };
      await expect(hooks.create(wanted)).rejects.toThrow(UNREADABLE);
      await expect(hooks.find(url)).rejects.toThrow(UNREADABLE);
      expect(double.requests.filter((request) => request.includes("charges"))).toEqual([]);
    });
  });

  /** Wherever the double answers the id of one of its webhooks, also at the end of an address. */
  function setIds(double: VendorServer, id: string): void {
    const replace = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(replace);
      if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replace(one)]));
      const known = double.hooks.find((hook) => String(value) === hook.id || String(value).endsWith(`/${hook.id}`));
      return known ? String(value).slice(0, -known.id.length) + id : value;
    };
    double.change = replace;
  }
});

describe("an id that a service has given a message", () => {
  interface Place {
    to: string;
    options?: object;
    /** An id of its form. */
    good?: string;
  }
  const GOOD = "7007";
  const PAGE = "https://github.com/acme/app/issues/1#issuecomment-7";
  const PLACES: Record<string, Place> = {
    github: { to: "acme/app#1", good: PAGE },
    gitlab: { to: "acme/app#1" },
    gitea: { to: "acme/app#1", good: PAGE },
    bitbucket: { to: "acme/app#1" },
    jira: { to: "SHOP-1" },
    linear: { to: "ENG-1" },
    notion: { to: "59e3eb41-33b2-4151-b05b-31115a15e1c2" },
    pagerduty: { to: "Q1R2S3T4U5V6W7", options: { from: "a@b.test" } },
    sentry: { to: "4501", options: { organization: "acme" } },
    slack: { to: "C012AB3CD" },
    discord: { to: "175928847299117063" },
    telegram: { to: "123456789", options: { token: "1:a" } },
    mattermost: { to: "4yde17n1hpyxtxr3u7jw1mn6po" },
    whatsapp: { to: "+15551234567", options: { phoneNumberId: "1" }, good: "wamid.7" },
    msteams: { to: "19:abc@thread.tacv2", options: { appId: "1", appPassword: "a" } },
    signal: { to: "+15551234567" },
    imessage: { to: "+15551234567" },
  };
  const drivers = Object.fromEntries(Object.values(vendors).flatMap(({ channels }) => Object.entries(channels ?? {})));

  test("each channel of a vendor is here", () => {
    expect(Object.keys(PLACES).toSorted()).toEqual(Object.keys(drivers).toSorted());
  });

  /** Sends a message, and shows that an answer is being written, to a service that answers with an id wherever one may be. */
  async function use(name: string, id: string) {
    const { to, options }: Place = PLACES[name] ?? { to: "" };
    const paths: string[] = [];
    const server = await startJsonServer(({ path = "" }) => {
      paths.push(path);
      return { status: 200, body: toAnswer(id) };
    });
    close = server.close;
    const script = `console.log(JSON.stringify({ id: "d:0", result: { guid: ${JSON.stringify(id)} } }))`;
    const credential = ["imessage", "msteams", "signal"].includes(name) ? {} : { token: "t" };
    const address = name === "imessage" ? { command: [process.execPath, "-e", script] } : { baseUrl: server.url };
    const context = { name, baseDir: "/", tempDir: "/tmp", stateDir: "/tmp", log: silentLog, compileTemplate };
    const channel = await drivers[name]!.create(
      { ...address, ...credential, ...options, ...(name === "msteams" && { tokenUrl: server.url }) },
      context,
    );
    const { signal } = new AbortController();
    const said: unknown[] = [];
    const sent = channel.send({ to, text: "Hello.", idempotencyKey: "d:0" }, signal);
    await sent.then(
      ({ messageId }) => said.push(messageId),
      (error: Error) => said.push(error.message),
    );
    const working = channel.startWorking?.(to, signal).then((stop) => stop());
    await working?.catch((error: Error) => said.push(error.message));
    return { sent, said, paths };
  }

  function toAnswer(id: string): object {
    return {
      ok: true,
      access_token: "t",
      expires_in: 3600,
      id,
      html_url: id,
      channel: "C1",
      ts: id,
      note: { id },
      messages: [{ id }],
      result: { chat: { id: 1 }, message_id: id, timestamp: id },
      data: { done: { made: { id } } },
    };
  }

  test.each(Object.keys(PLACES))("%s: is used", async (name) => {
    const good = PLACES[name]?.good ?? GOOD;
    const { said } = await use(name, good);
    expect(said[0]).toContain(good);
  });

  describe.each(HOSTILE)("is %s", (_, hostile) => {
    test.each(Object.keys(PLACES))("%s: is not used", async (name) => {
      const { sent, said, paths } = await use(name, hostile);
      await expect(sent).rejects.toThrow(UNREADABLE);
      expect(said.filter((text) => hostile !== "" && String(text).includes(hostile))).toEqual([]);
      const known = new Set((await use(name, PLACES[name]?.good ?? GOOD)).paths);
      expect(paths.filter((path) => !known.has(path))).toEqual([]);
    });
  });
});

describe("an id that a service has given an event that was missed", () => {
  const events = ["invoice.paid"];
  async function find(name: string, id: string): Promise<unknown> {
    const server = await startJsonServer(({ path = "" }) => {
      const isHook = /hooks\?|webhook_endpoints/.test(path);
      const item = { id: isHook ? "4" : id, url, config: { url }, type: "invoice.paid", delivered_at: "2100-01-01" };
      return { status: 200, body: name === "stripe" ? { data: [item] } : [item] };
    });
    close = server.close;
    const access = accessTo(server.url, { place: "acme/app" });
    const options = { url, events, readKnown: async () => new Set<string>(), enter: async () => {} };
    return (await vendors[name]!.openMissed!(access, options)).find(0);
  }
  const names = Object.keys(vendors).filter((name) => vendors[name]?.openMissed);

  test.each(names)("%s: is used", async (name) => {
    expect(await find(name, "7")).toMatchObject({ missed: [{ id: "7" }] });
  });

  describe.each(HOSTILE)("is %s", (_, hostile) => {
    test.each(names)("%s: is not used", async (name) => {
      await expect(find(name, hostile)).rejects.toThrow(UNREADABLE);
    });
  });
});
