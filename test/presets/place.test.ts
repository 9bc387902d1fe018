/** `place` of each preset that takes it: each sample in its own place, and elsewhere. What is read is about the same place. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findPresets, readPreset } from "../../src/core/config/presets/file.ts";
import { takesPlace } from "../../src/core/config/presets/parameters.ts";
import { isObject, readPath, replaceAt, toObject, toText } from "../../src/core/shared/json.ts";
import type { Resolution } from "../../src/core/types.ts";
import { readSamples, usePreset } from "../support/preset.ts";

type Payload = Record<string, unknown>;
const at = (payload: unknown, ...paths: string[]): string | undefined =>
  paths.map((path) => toText(readPath(payload, path.split(".")))).find(Boolean);

/** How a person would say where an event is. */
const PLACES: Record<string, (payload: Payload) => string | undefined> = {
  github: (payload) => at(payload, "repository.full_name"),
  gitea: (payload) => at(payload, "repository.full_name"),
  bitbucket(payload) {
    const { project, slug } = toObject(
      readPath(payload, ["pullRequest", "toRef", "repository"]) ?? payload["repository"],
    );
    const ofDataCenter = project === undefined ? undefined : `${at(project, "key")}/${String(slug)}`;
    return at(payload, "repository.full_name") ?? ofDataCenter;
  },
  gitlab: (payload) =>
    at(payload, "project.path_with_namespace") ??
    /example\.com\/(.*)\/-\/security/.exec(at(payload, "object_attributes.url") ?? "")?.[1],
  jira: (payload) => at(payload, "issue.key")?.replace(/-\d+$/, ""),
  linear: (payload) =>
    at(
      payload,
      "data.issue.identifier",
      "issueData.identifier",
      "agentSession.issue.identifier",
      "data.identifier",
    )?.replace(/-\d+$/, ""),
  slack: (payload) =>
    at(
      payload,
      "event.item.channel",
      "event.assistant_thread.channel_id",
      "event.channel.id",
      "event.channel",
      "event.channel_id",
      "channel.id",
      "channel_id",
      "container.channel_id",
    ),
  discord: (payload) => at(payload, "event.data.channel_id", "d.channel_id", "channel_id", "channel.id"),
  mattermost: (payload) => at(payload, "channel_id"),
  telegram(payload) {
    const [update = {}] = Object.values(payload).filter(isObject);
    return readPath(update, ["business_connection_id"]) ? undefined : at(update, "chat.id", "message.chat.id");
  },
  teams: (payload) => at(payload, "conversation.id")?.replace(/;messageid=.*/, ""),
  googlechat: (payload) =>
    at(
      payload,
      "message.space.name",
      "space.name",
      ...["messagePayload.", "appCommandPayload.", "buttonClickedPayload.", ""].map((part) => `chat.${part}space.name`),
    ),
};
/** One that could be another sender's. */
const ELSEWHERE: Record<string, string> = { jira: "ELSE", linear: "ELSE", telegram: "-1009", slack: "C0ELSE" };

const OPTIONS: Record<string, object> = {
  teams: { appId: "app" },
  googlechat: { audience: "https://hooks.example.com/hooks/googlechat" },
};
const BOUND = findPresets().filter((name) => takesPlace(readPreset(name).preset));

test("these presets take it", () => {
  expect(BOUND).toEqual(Object.keys(PLACES).toSorted());
});

const REASON = /which is not in place$|^it names no place/;

const BLOCK = { token: "t", baseUrl: "http://127.0.0.1:9" };

/** By its options. */
const uses = new Map<string, ReturnType<typeof usePreset>>();

function use(preset: string, options: object = {}): ReturnType<typeof usePreset> {
  const key = JSON.stringify([preset, options]);
  const channels = preset in OPTIONS ? {} : { [preset]: BLOCK };
  const used = uses.get(key) ?? usePreset(preset, { ...OPTIONS[preset], ...options }, channels);
  uses.set(key, used);
  return used;
}

test.each(BOUND)("each sample of %s counts in its own place only", async (preset) => {
  const places = new Set<string>();
  for (const { name, payload, headers } of readSamples(preset)) {
    const send = async (options?: object) => [name, await (await use(preset, options))(payload, headers)] as const;
    const skipped = [name, { actions: [], reason: expect.stringMatching(REASON) }];
    expect(await send({ place: ELSEWHERE[preset] ?? "acme-elsewhere" })).toMatchObject(skipped);
    const place = PLACES[preset]?.(payload);
    if (place === undefined) {
      expect(await send({ place: "*" })).toMatchObject([name, { reason: "it names no place, so it is not in place" }]);
      continue;
    }
    places.add(place);
    expect(withoutIds(await send({ place }))).toEqual(withoutIds(await send()));
    expect(await send({ place: ["*", `!${place}`] })).toMatchObject(skipped);
  }
  expect(places.size).toBeGreaterThan(0);
});

function withoutIds(result: readonly [string, Resolution]): unknown {
  return JSON.parse(JSON.stringify(result).replaceAll(/hook:[0-9a-f-]{36}/g, "hook:<id>"));
}

const ACTING = BOUND.filter((name) => readPreset(name).preset.reads ?? readPreset(name).preset.writes);

describe.each(ACTING)("what %s reads and writes", (preset) => {
  const { reads, writes } = readPreset(preset).preset;
  const names = Object.keys(reads?.calls ?? {});
  const context = names.length > 0 ? { context: names } : {};
  const grants = Object.fromEntries(Object.keys(writes?.calls ?? {}).map((name) => [`${preset}.${name}`, "ask"]));
  const calls = [...Object.entries(reads?.calls ?? {}), ...Object.entries(writes?.calls ?? {})];

  test("each says which of its arguments is the place", () => {
    expect(calls.filter(([, { account }]) => account === undefined)).toEqual([]);
  });

  test("is about the place of the event, whatever a field says", async () => {
    let read = 0;
    const tried = new Set<string>();
    const options = {
      ...(preset !== "slack" && { events: ["*"] }),
      ...context,
      grants,
      channel: "source",
      ...(preset === "slack" && { mention: false }),
    };
    const free = await use(preset, options);
    for (const { name, payload, headers } of readSamples(preset)) {
      const place = PLACES[preset]?.(payload);
      const inSample = readsOf(await free(payload, headers)).map(({ call }) => call);
      if (place === undefined || inSample.length === 0) continue;
      const bounded = await use(preset, { ...options, place });
      read += readsOf(await bounded(payload, headers)).length;
      for (const { changed, path } of listChanges(payload, ELSEWHERE[preset] ?? "acme-elsewhere/secret")) {
        // The calls of another sample took their arguments from the same field.
        const field = [...inSample, path].join();
        if (tried.has(field)) continue;
        tried.add(field);
        const inPlace = await bounded(changed, headers).catch(() => undefined);
        const wrong = placesOf(preset, inPlace).filter((one) => !isAt(one, place));
        // Without `place`, where the reply goes tells where the event is.
        const anywhere = await free(changed, headers).catch(() => undefined);
        const to = toText(readPath(anywhere, ["actions", "0", "to"]));
        const contradicting = placesOf(preset, anywhere).filter((one) => to !== "" && !isAt(to, one));
        expect([name, path, wrong, contradicting]).toEqual([name, path, [], []]);
      }
    }
    expect(read).toBeGreaterThan(0);
  }, 60_000);
});

test("a read and a write that take their place from another field than the event are left out", async () => {
  const parent = mkdtempSync(join(tmpdir(), "hookline-place-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, "forge");
  cpSync(new URL("../../presets/gitea", import.meta.url), folder, { recursive: true });
  const file = join(folder, "preset.json");
  const { registration: _, ...preset } = JSON.parse(readFileSync(file, "utf8"));
  const repo = "{{default origin.full_name repository.full_name}}";
  for (const read of Object.values<Payload>(preset.reads.calls))
    read["arguments"] = { ...toObject(read["arguments"]), repo };
  for (const write of Object.values<Payload>(preset.writes.calls))
    write["place"] = { ...toObject(write["place"]), repo };
  writeFileSync(file, JSON.stringify({ ...preset, name: "forge" }));
  const post = await usePreset(
    folder,
    { context: ["comments"], grants: { "forge.label": "ask" }, channel: "source" },
    { gitea: BLOCK },
  );
  const [sample] = readSamples("gitea").filter(({ name }) => name === "pull-request-opened");
  const send = (origin?: string) => post({ ...sample?.payload, origin: { full_name: origin } }, sample?.headers);
  const { full_name: place } = toObject(sample?.payload["repository"]);
  expect(readsOf(await send())).toMatchObject([
    { call: "comments", args: { repo: place } },
    { call: "label", args: { repo: place } },
  ]);
  const elsewhere = await send("acme/elsewhere");
  expect(readsOf(elsewhere)).toEqual([]);
  for (const reason of ["it is not about the place of the event", "it is not at the place of the event"])
    expect(elsewhere.warnings).toContainEqual(expect.stringContaining(reason));
});

/** The places that its reads and writes are about. */
function placesOf(preset: string, resolution: unknown): string[] {
  const { reads, writes } = readPreset(preset).preset;
  const calls = { ...reads?.calls, ...writes?.calls };
  return readsOf(resolution).map(({ call, args }) => toText(args[calls[call]?.account ?? ""]));
}

function isAt(one: string, place: string): boolean {
  return (
    one.toLowerCase() === place.toLowerCase() || (one.startsWith(place) && /^[-/#!:]/.test(one.slice(place.length)))
  );
}

function readsOf(resolution: unknown): { call: string; args: Record<string, unknown> }[] {
  const { actions } = toObject(resolution) as Partial<Resolution>;
  return (actions ?? []).flatMap((action) =>
    action.kind === "agent"
      ? [...(action.context ?? []), ...(action.grants ?? [])].map(({ call, arguments: args = {} }) => ({
          call: call.replace(/^.*\./, ""),
          args,
        }))
      : [],
  );
}

/** Each text and number replaced, and the fields that say where a Slack event is added. */
function* listChanges(payload: Payload, elsewhere: string): Generator<{ changed: Payload; path: string }> {
  for (const path of listLeaves(payload)) {
    const old = toText(readPath(payload, path));
    for (const value of [elsewhere, ...(/^\d{1,5}$/.test(old) ? [`${old}/../../${elsewhere}`] : [])]) {
      yield {
        changed: toObject(replaceAt(payload, path, value)),
        path: [...path, value === elsewhere ? "" : ".."].join("."),
      };
    }
  }
  if (!isObject(payload["event"])) return;
  for (const [key, value] of Object.entries({
    item: { channel: elsewhere, ts: "1.1" },
    assistant_thread: { channel_id: elsewhere, thread_ts: "1.1" },
    channel: { id: elsewhere },
  })) {
    yield { changed: { ...payload, event: { ...payload["event"], [key]: value } }, path: `event.${key}` };
  }
  yield { changed: { ...payload, channel: { id: elsewhere } }, path: "channel" };
}

function listLeaves(value: unknown, path: string[] = []): string[][] {
  if (Array.isArray(value))
    return value.slice(0, 2).flatMap((item, index) => listLeaves(item, [...path, String(index)]));
  if (isObject(value)) return Object.entries(value).flatMap(([key, child]) => listLeaves(child, [...path, key]));
  return typeof value === "string" || typeof value === "number" ? [path] : [];
}
