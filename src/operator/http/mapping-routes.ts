import type { FromSchema } from "json-schema-to-ts";
import { toWord } from "../../core/shared/text/command.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { json } from "../../core/ingress/router.ts";
import { DIFF_SCHEMA } from "../diff.ts";
import { type MappingView, toMappingSourceView, toMappingViews } from "../mapping-views.ts";
import { MAX_REJECTIONS } from "../rejections.ts";
import { HookError } from "../../core/errors.ts";
import { createRequireBody, type RequireBody } from "../body.ts";
import { SAVE_SCHEMA } from "../saving.ts";
import { TRIAL_SCHEMA } from "../trial.ts";
import { answering, changing, requireFound, responding, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

const COUNTED_MS = 7 * DAY_MS;
/** Pages ask again with every change. */
const CACHED_MS = 5000;
const MAX_DIFF_BYTES = 4 * 1024 * 1024;

type MappingPath = `/api/mappings${string}` | "/api/try" | "/api/diff" | "/api/transforms";

const START_SCHEMA = {
  type: "object",
  required: ["name", "payload"],
  properties: { name: { type: "string", pattern: "^[A-Za-z0-9][\\w-]*$" }, payload: {} },
} as const;

const requireStart: RequireBody<FromSchema<typeof START_SCHEMA>> = createRequireBody(START_SCHEMA, "transform");

/** The command that sends a request to a hook of this configuration, where the configuration is. */
function toFirstRequest(views: readonly MappingView[], hooksUrl: string): string {
  const open = views.find(({ url, auth }) => url !== undefined && auth === undefined);
  return [
    `curl ${toWord(open?.url ?? `${hooksUrl}/wake`)}`,
    `-H "Authorization: Bearer $(cat .webhooks/hook-token)"`,
    `-H "Content-Type: application/json"`,
    `-d '${open ? "{}" : '{"text":"Hello"}'}'`,
  ].join(" \\\n  ");
}

/** The mappings, and what others would do. */
export function createMappingRoutes({
  config,
  shadowed,
  inputs,
  saving,
  rejections,
  tryHook,
  diff,
  journal,
  serviceUrl,
  runSchedule,
}: RouteServices): RoutesOf<MappingPath> {
  const counts = cached(() => journal.countByMapping(Date.now() - COUNTED_MS), CACHED_MS);
  const findMapping = (id: string) => config().hooks.mappings.find((mapping) => mapping.id === id);
  return {
    "GET /api/mappings": answering({
      about: "The mappings in the order in which they are tried, with the address for the sender and what they did.",
      async answer() {
        const pauses = await journal.listPauses();
        const { gateway, hooks } = config();
        const hooksUrl = (gateway.hooksUrl ?? serviceUrl()) + hooks.path;
        const views = toMappingViews({
          sources: hooks.mappings,
          shadowed: shadowed(),
          counts: await counts(),
          rejections: await rejections.list(MAX_REJECTIONS),
          pauses: new Map(pauses.map(({ mapping, since }) => [mapping, since])),
          hooksUrl,
          now: Date.now(),
        });
        return { hooksUrl, firstRequest: toFirstRequest(views, hooksUrl), saves: saving.isOn(), mappings: views };
      },
    }),
    "GET /api/mappings/:id/source": answering({
      about:
        "The parts of a mapping: its fields, the code of its transform, its samples, those that it skips last. Without secrets.",
      async answer({ params: { id = "" } }) {
        const found = requireFound(findMapping(id), "mapping");
        const source = toMappingSourceView(found, inputs(id));
        const hook = found.mapping.match?.path;
        const tried = source.samples.map(async ({ name: _name, ...sample }) => {
          const trial = hook === undefined ? undefined : await tryHook({ hook, ...sample });
          return trial?.ok === true && trial.mapping === id && trial.actions.length > 0;
        });
        const isTaken = await Promise.all(tried);
        const order = (sample: (typeof source.samples)[number]): number =>
          Number(!isTaken[source.samples.indexOf(sample)]);
        return { ...source, samples: source.samples.toSorted((one, other) => order(one) - order(other)) };
      },
    }),
    "POST /api/mappings/:id/run": answering({
      about: "Makes an event of the mapping's schedule now. It is none of its times, and its turns start as usual.",
      async answer({ params: { id = "" } }) {
        const { eventId, actions, warnings } = await runSchedule(id);
        return { ok: true as const, eventId, actions, warnings };
      },
    }),
    "POST /api/mappings/:id/pause": changing(
      "mapping",
      "Lets the mapping's turns wait until it is resumed. Requests are accepted and answered as before.",
      async (id) => {
        if (!findMapping(id)) return false;
        await journal.pauseMapping(id, Date.now());
        return true;
      },
    ),
    "POST /api/mappings/:id/resume": changing(
      "mapping",
      "Lets the turns of a paused mapping start, in their order.",
      // One that is not in the configuration any more may still be paused.
      async (id) => (await journal.resumeMapping(id)) || findMapping(id) !== undefined,
    ),
    "PUT /api/mappings": answering({
      about:
        "Writes a mapping where it stands, and its modules, under `npx hookline dev` on this machine alone. 409: something has changed on disk, and nothing was written.",
      body: SAVE_SCHEMA,
      example: { mapping: "{ id: 'new', match: { path: 'new' }, messageTemplate: '{{text}}' }" },
      async answer({ readJson }) {
        if (!saving.isOn())
          throw new HookError("forbidden", { message: "Only `npx hookline dev` on a loopback address writes files." });
        return { ok: true as const, written: saving.save(await readJson(MAX_DIFF_BYTES)) };
      },
    }),
    "POST /api/transforms": answering({
      about: "The first text of a transform for a payload, with the payload's type. Nothing is written.",
      body: START_SCHEMA,
      example: { name: "ci", payload: { job: "lint" } },
      async answer({ readJson }) {
        const body = await readJson();
        requireStart(body);
        return { files: saving.start(body.name, [body.payload]) };
      },
    }),
    "POST /api/try": responding({
      about: "The actions that a payload leads to. Nothing is recorded or executed.",
      body: TRIAL_SCHEMA,
      example: { hook: "wake", payload: { text: "The build is broken." } },
      async respond({ readJson, exchange }) {
        const trial = await tryHook(await readJson());
        return trial.ok ? json(trial) : json({ ...trial, requestId: exchange.id }, trial.status);
      },
    }),
    "POST /api/diff": answering({
      about: "How stored events would fare under other mappings. Nothing is recorded or executed.",
      body: DIFF_SCHEMA,
      example: { since: "1h", config: { hooks: { mappings: [], presets: [] } } },
      answer: async ({ readJson }) => diff(await readJson(MAX_DIFF_BYTES)),
    }),
  };
}

/** Reads at most once in this time. */
function cached<Value>(read: () => Promise<Value>, forMs: number): () => Promise<Value> {
  let known: { value: Promise<Value>; until: number } | undefined;
  return () => {
    if (known && performance.now() < known.until) return known.value;
    const value = read();
    known = { value, until: performance.now() + forMs };
    value.catch(() => (known = undefined));
    return value;
  };
}
