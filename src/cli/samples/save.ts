import { existsSync } from "node:fs";
import path from "node:path";
import { readConfig } from "../../service/drivers.ts";
import { ConfigError, HookError } from "../../core/errors.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { withoutRedacted } from "../../core/ingress/hook-request.ts";
import type { EventTimeline } from "../../operator/views.ts";
import { describeError } from "../command.ts";
import { locateAnyConfig, locateTransforms, withSandbox } from "../context.ts";
import type { CliIo } from "../io.ts";
import { findSamples, runSample } from "../../service/authoring/sample.ts";
import { buildSamples } from "./suite.ts";

export interface SaveOptions {
  /** The transform or hook, as `transforms/ci`. Default: the transform of the event's mapping, else its hook. */
  to?: string;
  /** The sample's name. Default: what the sender calls the event. */
  name?: string;
  config?: string;
}

export interface SavedSample {
  /** For `webhooks test`: `ci/pull_request.opened`. */
  name: string;
  /** Absolute. */
  files: string[];
  /** Why no action could be recorded as the expected one. */
  failure?: string;
}

/** Writes an event's request as a sample, and the action that it leads to today as the expected one. */
export async function saveSample(event: EventTimeline, options: SaveOptions, io: CliIo): Promise<SavedSample> {
  if (event.request.payload === "" || event.request.payload === undefined) {
    throw new ConfigError([{ message: `The body of the event ${event.id} was not stored: there is nothing to save.` }]);
  }
  const { folder, set } = await findPlace(event, options, io);
  const samples = path.join(folder, `${set}.samples`);
  const name = chooseName(options.name ?? toFileName(event.event ?? "sample"), samples, options.name !== undefined);
  const file = path.join(samples, name);
  replaceFile(`${file}.json`, toJson(event.request.payload));
  replaceFile(`${file}.request.json`, toJson(toSampleRequest(event)));
  const saved = { name: `${set}/${name}`, files: [`${file}.json`, `${file}.request.json`] };
  const failure = await recordExpected({ folder, set, name }, options, io);
  if (failure !== undefined) return { ...saved, failure };
  return { ...saved, files: [...saved.files, `${file}.expected.json`] };
}

/** Takes the name of a transform, with or without its folder and extension. */
async function findPlace(
  event: EventTimeline,
  { to, config }: SaveOptions,
  io: CliIo,
): Promise<{ folder: string; set: string }> {
  const [folder = io.cwd] = locateTransforms({ config }, io);
  if (to === undefined) return { folder, set: event.hook, ...(await findOwnPlace(event, config, io)) };
  const wanted = to.replace(/\/+$/, "").replace(/(\.samples|\.[mc]?[jt]s)$/, "");
  const named = path.resolve(io.cwd, wanted);
  const inFolder = path.relative(folder, named);
  if (inFolder !== "" && !inFolder.startsWith("..") && !path.isAbsolute(inFolder)) return { folder, set: inFolder };
  return wanted.includes("/") ? { folder: path.dirname(named), set: path.basename(named) } : { folder, set: wanted };
}

/** The folder of the mapping that took the event, and its transform. */
async function findOwnPlace(
  event: EventTimeline,
  flag: string | undefined,
  io: CliIo,
): Promise<{ folder: string; set?: string } | undefined> {
  const file = locateAnyConfig(flag, io);
  if (file === undefined || event.mapping === undefined) return undefined;
  const { hooks } = (await readConfig(file, io.env)).config;
  const source = hooks.mappings.find(({ id }) => id === event.mapping);
  // The module of a preset has its samples there.
  if (!source || (source.preset !== undefined && source.transformsDir === source.baseDir)) return undefined;
  const module = source.mapping.transform?.module.replace(/\.[mc]?[jt]s$/, "");
  return { folder: source.transformsDir, ...(module !== undefined && { set: module }) };
}

function toFileName(event: string): string {
  return event.replaceAll(/[^\w.-]+/g, "-").slice(0, 60) || "sample";
}

/** A free one, with a number if need be. A name that was given must be free. */
function chooseName(wanted: string, samples: string, isGiven: boolean): string {
  const isFree = (name: string): boolean => !existsSync(path.join(samples, `${name}.json`));
  if (isGiven && (!/^[\w.-]+$/.test(wanted) || /\.(request|expected)$/.test(wanted))) {
    const message = `"${wanted}" cannot be the name of a sample: expected letters, digits, dots, - and _.`;
    throw new ConfigError([{ message }]);
  }
  if (isFree(wanted)) return wanted;
  if (isGiven)
    throw new ConfigError([{ message: `There is a sample ${wanted} in ${samples} already: choose another name.` }]);
  let number = 2;
  while (!isFree(`${wanted}-${number}`)) number++;
  return `${wanted}-${number}`;
}

/** Headers of the connection, not of the event. */
const TRANSPORT =
  /^(host|connection|content-length|transfer-encoding|accept.*|user-agent|x-forwarded-.*|forwarded|via|x-real-ip|traceparent|tracestate)$/;

/** Without values that were not stored. */
function toSampleRequest({ request, receivedAt }: EventTimeline): object {
  const headers = Object.entries(withoutRedacted(request.headers));
  return {
    headers: Object.fromEntries(headers.filter(([name]) => !TRANSPORT.test(name) && name !== "content-type")),
    query: withoutRedacted(request.query),
    now: receivedAt,
  };
}

/** Returns why there is no action to expect. */
async function recordExpected(
  { folder, set, name }: { folder: string; set: string; name: string },
  { config }: SaveOptions,
  io: CliIo,
): Promise<string | undefined> {
  const found = findSamples(folder).find((one) => one.name === set);
  const sample = found?.samples.find((one) => one.name === name);
  if (!found || !sample) throw new Error(`the sample ${set}/${name} was not written`);
  const place = { config: locateAnyConfig(config, io), env: io.env };
  try {
    const result = await withSandbox({ io, config }, async (runner) =>
      runSample(sample, { runtime: await buildSamples(found, { ...place, runner }), runner, update: true }),
    );
    return result.kind === "failed" ? result.reason : undefined;
  } catch (error) {
    if (error instanceof ConfigError || error instanceof HookError) return describeError(error);
    throw error;
  }
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
