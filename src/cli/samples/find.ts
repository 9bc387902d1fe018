import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseSource } from "../../config/parse/source.ts";
import { ConfigError, messageOf } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";

/** A transform with the samples beside it: `<name>.ts`, `<name>.samples/`, and the mapping it needs, if it needs one. */
export interface SampleSet {
  /** Relative to the folder of the transforms, without an extension: `ci/triage`. */
  name: string;
  /** Relative likewise; undefined where the samples stand beside no module. */
  module: string | undefined;
  /** `<name>.mapping.json`, absolute; undefined: a mapping of nothing but the transform. */
  mappingFile: string | undefined;
  samples: Sample[];
}

/** One request and the actions expected of it. Files absolute. */
export interface Sample {
  name: string;
  /** `<sample>.json`: the body. */
  payloadFile: string;
  /** `<sample>.request.json`, which may be missing: `{ headers?, query?, now? }`. */
  requestFile: string;
  /** `<sample>.expected.json`, which is missing at first: the actions, without what stands at its default. */
  expectedFile: string;
}

const MODULE_EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
const BESIDE_PAYLOAD = [".expected.json", ".request.json"];

/** The samples below a folder, in the order of their names. */
export function findSamples(folder: string): SampleSet[] {
  const found = globSync("**/*.samples/", { cwd: folder, exclude: (name) => name === "node_modules" });
  return found.toSorted().map((samplesFolder) => {
    const name = samplesFolder.slice(0, -".samples".length);
    const mappingFile = path.join(folder, `${name}.mapping.json`);
    return {
      name,
      module: MODULE_EXTENSIONS.map((extension) => name + extension).find((module) =>
        existsSync(path.join(folder, module)),
      ),
      mappingFile: existsSync(mappingFile) ? mappingFile : undefined,
      samples: readSamples(path.join(folder, samplesFolder)),
    };
  });
}

function readSamples(folder: string): Sample[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json") && !BESIDE_PAYLOAD.some((suffix) => file.endsWith(suffix)))
    .toSorted()
    .map((file) => toSample(folder, path.basename(file, ".json")));
}

function toSample(folder: string, name: string): Sample {
  const beside = (suffix: string): string => path.join(folder, name + suffix);
  return {
    name,
    payloadFile: beside(".json"),
    requestFile: beside(".request.json"),
    expectedFile: beside(".expected.json"),
  };
}

/** What a sample posts. */
export interface SampleRequest {
  /** The body as it stands in the file. */
  body: string;
  payload: unknown;
  headers: unknown;
  query: unknown;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** A sample gives the same tomorrow: its request comes at this moment, unless it names another. */
const MOMENT = "2026-01-05T09:00:00.000Z";

/** Reads a sample's files. Throws a `ConfigError` that says what is wrong with them. */
export function readSampleRequest({ payloadFile, requestFile }: Sample): SampleRequest {
  const body = readFileSync(payloadFile, "utf8");
  const { headers, query, now = MOMENT } = readContext(requestFile);
  const receivedAt = typeof now === "string" ? Date.parse(now) : Number.NaN;
  if (Number.isNaN(receivedAt)) {
    throw new ConfigError([{ file: requestFile, key: "now", message: `must be a time like "${MOMENT}".` }]);
  }
  return { body, payload: parsePayload(payloadFile, body), headers, query, receivedAt };
}

function readContext(file: string): Record<string, unknown> {
  const text = readIfThere(file);
  if (text === undefined) return {};
  const { value } = parseSource(file, text);
  if (isObject(value)) return value;
  throw new ConfigError([{ file, message: "Expected an object of headers, query and now." }]);
}

function parsePayload(file: string, body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new ConfigError([{ file, message: `It is no JSON: ${messageOf(error)}.` }]);
  }
}

/** The text of a file, undefined where there is none. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
