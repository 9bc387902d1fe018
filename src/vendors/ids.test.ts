import { afterEach, describe, expect, test } from "vitest";
import { startJsonServer } from "../../test/support/json-server.ts";
import { doubles } from "../../test/support/vendors/doubles.ts";
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
  // Telegram's webhooks have no ids.
  const names = Object.keys(vendors).filter((name) => vendors[name]?.webhooks && name !== "telegram");

  async function open(name: string) {
    const double = await startVendor(name);
    close = double.close;
    const { place, events } = doubles[name]!.hooks!;
    const hooks = vendors[name]!.webhooks!.connect(accessTo(double.url, { token: TOKEN, place }));
    return { double, hooks, wanted: { url, secret: "a:b", events, all: false } };
  }

  test.each(names)("%s: is used", async (name) => {
    const { double, hooks, wanted } = await open(name);
    const { id } = await hooks.create(wanted);
    expect(await hooks.find(url)).toEqual([id]);
    await hooks.remove(id);
    expect(double.hooks).toEqual([]);
  });

  test.each(names)("%s: is not used if it is hostile", async (name) => {
    const { double, hooks, wanted } = await open(name);
    for (const [, hostile] of HOSTILE) {
      double.hooks.length = 0;
      setIds(double, hostile);
      await expect(hooks.create(wanted)).rejects.toThrow(UNREADABLE);
      await expect(hooks.find(url)).rejects.toThrow(UNREADABLE);
    }
    expect(double.requests.filter((request) => request.includes("charges"))).toEqual([]);
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
  /** Ids that are no numbers. */
  const PAGE = "https://github.com/acme/app/issues/1#issuecomment-7";
  const IDS: Record<string, string> = {
    github: PAGE,
    gitea: PAGE,
    whatsapp: "wamid.7",
    googlechat: "spaces/A/messages/7",
  };
  const idOf = (name: string): string => IDS[name] ?? "7007";
  const drivers = Object.fromEntries(Object.values(vendors).flatMap(({ channels }) => Object.entries(channels ?? {})));

  const names = Object.keys(drivers);
  const channels = Object.assign({}, ...Object.values(doubles).map((double) => double.channels));

  /** A service that answers with an id wherever one may be. */
  async function open() {
    const said = { id: "", paths: [] as string[] };
    const { url: baseUrl, close: closeServer } = await startJsonServer(({ path = "" }) => {
      said.paths.push(path);
      return { status: 200, body: toAnswer(said.id) };
    });
    close = closeServer;
    return { said, baseUrl: baseUrl.replace(/\/$/, "") };
  }

  /** Sends a message to it, and shows that an answer is being written. */
  async function use(service: Awaited<ReturnType<typeof open>>, name: string, id: string) {
    const paths: string[] = [];
    Object.assign(service.said, { id, paths });
    const answer = JSON.stringify({ id: "d:0", result: { guid: id } });
    const program = { to: "+15551234567", block: () => ({ command: ["sh", "-c", `printf '%s\\n' "$0"`, answer] }) };
    const { to, block } = channels[name] ?? program;
    const context = { name, baseDir: "/", tempDir: "/tmp", stateDir: "/tmp", log: silentLog, compileTemplate };
    const channel = await drivers[name]!.create(block(service.baseUrl), context);
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
      name: id,
      html_url: id,
      channel: "C1",
      ts: id,
      note: { id },
      audit: { events: [{ type: "Comment", id }] },
      messages: [{ id }],
      result: { chat: { id: 1 }, message_id: id, timestamp: id },
      data: { done: { made: { id } } },
    };
  }

  test.each(names)("%s: is used, but for a hostile one", async (name) => {
    const service = await open();
    const usual = await use(service, name, idOf(name));
    expect(usual.said[0]).toContain(idOf(name));
    const usable = new Set(usual.paths);
    for (const [, hostile] of HOSTILE) {
      const { sent, said, paths } = await use(service, name, hostile);
      await expect(sent).rejects.toThrow(UNREADABLE);
      expect(said.filter((text) => hostile !== "" && String(text).includes(hostile))).toEqual([]);
      expect(paths.filter((path) => !usable.has(path))).toEqual([]);
    }
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
