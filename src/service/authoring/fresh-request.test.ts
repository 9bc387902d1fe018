import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { usePreset } from "../../../test/support/preset.ts";
import { readConfig } from "../drivers.ts";
import { findPresets, PRESETS_FOLDER } from "../../core/config/presets/file.ts";
import type { MappingInput } from "../../core/config/schema/generated.ts";
import { toFreshRequest } from "./fresh-request.ts";
import { readRequest } from "./sample.ts";

const send = (body: string, mapping: MappingInput, type = "application/json") =>
  toFreshRequest({ headers: {}, body: Buffer.from(body), type }, [mapping]).body.toString();

test("one id is another one in the same form, and all else stays as it is written", () => {
  const body = '{ "id" : "evt_1NG8Du", "n": 12345678901234567890, "data": {"id": "evt_1NG8Du"}, "a": "id" }';
  const fresh = send(body, { dedupe: "{{type}}:{{id}}" });
  expect(fresh.trimEnd()).toMatch(/^\{ "id" : "evt_\d[A-F]{2}\d[A-F][a-f]", "n": 12345678901234567890, "data"/);
  expect(JSON.parse(fresh).id).not.toBe("evt_1NG8Du");
  expect(send('{"update_id":7}', { dedupe: "{{update_id}}" })).toMatch(/^\{"update_id":\d+\}[ \t]+$/);
  expect(JSON.parse(send('{"a":{"id":"no"},"id":"chosen"}', { dedupe: "{{a.id}}", sessionKey: "{{id}}" })).id).toBe(
    "chosen",
  );
});

test("of a list each item has its own, and forms have them too", () => {
  const items = {
    items: [
      { id: 1, at: 1 },
      { id: 2, at: 1 },
    ],
  };
  const fresh = JSON.parse(send(JSON.stringify(items), { forEach: "items", dedupe: "{{item.id}}" }));
  expect(new Set([1, 2, ...fresh.items.map(({ id }: { id: number }) => id)]).size).toBe(4);
  expect(fresh.items).toMatchObject([{ at: 1 }, { at: 1 }]);
  const form = send("MessageSid=SM12ab&Body=a+b", { dedupe: "{{MessageSid}}" }, "application/x-www-form-urlencoded");
  expect(form).toMatch(/^MessageSid=[A-F]{2}\d\d[a-f]{2}&Body=a\+b$/);
});

test("a body without an id has other bytes, and what is no JSON stays", () => {
  expect(send("{}", {})).toMatch(/^\{\}[ \t]{16}$/);
  expect(send("<a/>", {}, "application/xml")).toBe("<a/>");
});

test.each(findPresets())("a sample of %s that is sent twice is two events", async (name) => {
  const ask = await usePreset(name);
  const { config } = await readConfig({ hooks: { presets: [name] } }, {});
  const mappings = config.hooks.mappings.map(({ mapping }) => mapping);
  const folder = path.join(PRESETS_FOLDER, name, "samples");
  const repeated: string[] = [];
  // A mail without an id is the same one as long as its content is.
  const isOther = (file: string): boolean => /\.(?:expected|request)\.|without-header/.test(file);
  for (const file of globSync("*.json", { cwd: folder }).filter((found) => !isOther(found))) {
    const body = readFileSync(path.join(folder, file));
    const { headers } = readRequest(path.join(folder, file.replace(/\.json$/, ".request.json")));
    const keysOf = async (): Promise<string[]> => {
      const given = { headers: Object(headers), body, type: "application/json" };
      const fresh = toFreshRequest(given, mappings);
      const lower = Object.entries(fresh.headers).map(([key, value]) => [key.toLowerCase(), value]);
      const { actions, idempotency } = await ask(JSON.parse(fresh.body.toString()), Object.fromEntries(lower));
      // An empty key is none.
      return actions.length > 0 ? (idempotency?.keys ?? []).filter(Boolean) : [];
    };
    const [first, second] = [await keysOf(), await keysOf()];
    if (first.some((key) => second.includes(key))) repeated.push(file);
  }
  expect(repeated).toEqual([]);
});
