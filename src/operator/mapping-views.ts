import path from "node:path";
import type { MappingInput } from "../core/config/schema/generated.ts";
import type { MappingSource } from "../core/config/resolved-config.ts";
import { parseObject, toText } from "../core/shared/json.ts";
import { compileRecurrence } from "../core/shared/recurrence.ts";
import { isInside, isInstalled, readRegularFile, toRealPath } from "../core/shared/system/files.ts";
import { listSampleNames } from "../core/shared/system/samples.ts";
import type { MappingCount } from "../core/journal/journal.ts";
import { type EventCounts, toEventCounts } from "../core/shared/words.ts";
import type { EventStatus, HookAction } from "../core/types.ts";
import type { Rejection } from "./rejections.ts";
import { toView } from "./iso-times.ts";

/** A mapping in the order in which it is tried. */
export interface MappingView {
  id: string;
  preset?: string;
  /** Where it is written. */
  file?: string;
  key: string;
  /** The conditions, as they are written. */
  match: object;
  /** The conditions besides the path, and the schedule, on one line. Empty: everything matches. */
  matches: string;
  action: HookAction["kind"];
  /** Its schedule as it is written, and when it comes next. Absent: requests start it. */
  schedule?: MappingInput["schedule"];
  nextAt?: string;
  /** The signature scheme; absent: the hook token. */
  auth?: string;
  /** An earlier mapping takes all its requests. */
  shadowed: boolean;
  /** Its turns wait. Absent: it is not paused. */
  pausedSince?: string;
  /** The address to give to its sender; absent if it takes any path. */
  url?: string;
  /** Its events of the last seven days, by what became of them. */
  events: EventCounts;
  /** The part of them that was refused or failed, also in a turn or a delivery, from 0 to 1. */
  errorRate: number;
  lastAt?: string;
  lastFailureAt?: string;
  /** The refused requests to its hook among the last 500. */
  refused: { count: number; lastAt?: string; reason?: string };
}

interface MappingListOptions {
  sources: MappingSource[];
  /** Ids of those that are never reached. */
  shadowed: ReadonlySet<string>;
  counts: MappingCount[];
  /** Newest first. */
  rejections: Rejection[];
  /** Since when mappings are paused, by their ids. */
  pauses: ReadonlyMap<string, number>;
  /** The service's address with `hooks.path`. */
  hooksUrl: string;
  now: number;
}

export function toMappingViews({
  sources,
  shadowed,
  counts,
  rejections,
  pauses,
  hooksUrl,
  now,
}: MappingListOptions): MappingView[] {
  const byHook = Map.groupBy(rejections, ({ hook }) => hook);
  return sources.map(({ id, preset, file, key, mapping, written = mapping }) => {
    const { match = {}, action = "agent", auth, schedule } = mapping;
    const own = counts.filter(({ mapping: counted }) => counted === id);
    const events = toEventCounts(Object.fromEntries(own.map(({ status, count }) => [status, count])));
    const refused = match.path === undefined ? [] : (byHook.get(match.path) ?? []);
    return toView({
      id,
      preset,
      file,
      key,
      match: (schedule ? match : written.match) ?? {},
      matches: describeConditions({ ...(schedule ? match : written.match), ...written.schedule }),
      action,
      schedule: written.schedule,
      nextAt: schedule && compileRecurrence(schedule)(now),
      auth: auth?.scheme,
      shadowed: shadowed.has(id),
      pausedSince: pauses.get(id),
      url:
        match.path === undefined || schedule
          ? undefined
          : `${hooksUrl}/${match.path.split("/").map(encodeURIComponent).join("/")}`,
      events,
      errorRate: toErrorRate(events),
      lastAt: lastOf(own),
      lastFailureAt: lastOf(own.filter(({ status }) => FAILURES.includes(status))),
      refused: toView({ count: refused.length, lastAt: refused[0]?.at, reason: refused[0]?.reason }),
    });
  });
}

/** `x-github-event release · where {…}` */
function describeConditions({ path: _path, headers, ...others }: { path?: unknown; headers?: object }): string {
  const conditions = Object.entries<unknown>({ ...headers, ...others });
  return conditions.map(([name, value]) => `${name} ${toText(value)}`).join(" · ");
}

function toErrorRate(events: EventCounts): number {
  const total = Object.values(events).reduce((sum, count) => sum + count, 0);
  const failures = (events.refused ?? 0) + (events.failed ?? 0);
  return total === 0 ? 0 : failures / total;
}

const FAILURES: readonly EventStatus[] = ["rejected", "failed"];

function lastOf(counts: MappingCount[]): number | undefined {
  return counts.length === 0 ? undefined : Math.max(...counts.map(({ lastAt }) => lastAt));
}

/** The parts of a mapping, to be edited and tried. Without secrets. */
export interface MappingSourceView extends Pick<MappingView, "id" | "preset" | "file" | "key"> {
  /** All fields but `auth` and `transform`, with references as they are written, except in `match.path`. */
  fields: Omit<MappingInput, "auth" | "transform">;
  /** The module and what it imports, as they are in their files now: by their names below the folder of the transforms. */
  transform?: { module: string; file: string; files: Record<string, string> };
  samples: Sample[];
}

interface Sample {
  name: string;
  payload: unknown;
  headers?: unknown;
  query?: unknown;
}

const MAX_SAMPLES = 50;
const MAX_BYTES = 256 * 1024;

/** `inputs`: the files that its transform was made of, absolute. */
export function toMappingSourceView(source: MappingSource, inputs: readonly string[]): MappingSourceView {
  const { id, preset, file, key, transformsDir, mapping, written = mapping } = source;
  const { auth: _auth, transform: _transform, ...fields } = written;
  const module = mapping.transform && path.resolve(transformsDir, mapping.transform.module);
  return {
    id,
    preset,
    file,
    key,
    fields:
      mapping.match?.path === undefined || mapping.schedule
        ? fields
        : { ...fields, match: { ...fields.match, path: mapping.match.path } },
    transform:
      module === undefined || !mapping.transform
        ? undefined
        : { module: mapping.transform.module, file: module, files: readModules(transformsDir, module, inputs) },
    samples: readSamples(source, module),
  };
}

const MAX_MODULES = 20;

/** The module first. Packages, and files of other folders, are not the author's. */
function readModules(folder: string, module: string, inputs: readonly string[]): Record<string, string> {
  const root = toRealPath(folder) ?? folder;
  const own = inputs.filter((file) => isInside(file, root) && !isInstalled(file) && file !== toRealPath(module));
  const named = [
    [path.relative(folder, module), module],
    ...own.slice(0, MAX_MODULES).map((file) => [path.relative(root, file), file]),
  ];
  return Object.fromEntries(named.map(([name = "", file = ""]) => [toSlashes(name), read(file) ?? ""]));
}

const toSlashes = (name: string): string => name.split(path.sep).join("/");

/** The samples that `webhooks test` finds: beside the module, for the hook, or in the preset's folder. */
function readSamples(
  { preset, file = "", mapping, transformsDir }: MappingSource,
  module: string | undefined,
): Sample[] {
  const folders = [
    ...(module === undefined ? [] : [`${module.slice(0, -path.extname(module).length)}.samples`]),
    ...(mapping.match?.path === undefined ? [] : [path.join(transformsDir, `${mapping.match.path}.samples`)]),
    ...(preset === undefined ? [] : [path.join(path.dirname(file), "samples")]),
  ];
  const files = [...new Set(folders)].flatMap((folder) =>
    listSampleNames(folder).map((name) => path.join(folder, `${name}.json`)),
  );
  return files.slice(0, MAX_SAMPLES).flatMap(readSample);
}

/** A file that is no JSON is left out. */
function readSample(file: string): Sample[] {
  try {
    const payload: unknown = JSON.parse(read(file) ?? "");
    const { headers, query } = parseObject(read(file.replace(/\.json$/, ".request.json")) ?? "");
    return [{ name: path.basename(file, ".json"), payload, headers, query }];
  } catch {
    return [];
  }
}

function read(file: string): string | undefined {
  try {
    return readRegularFile(file, MAX_BYTES).toString("utf8");
  } catch {
    return undefined;
  }
}
