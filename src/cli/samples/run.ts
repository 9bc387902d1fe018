import { writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parseSource } from "../../config/parse/source.ts";
import { resolveUserConfig } from "../../config/load.ts";
import { readSchema } from "../../config/schema/validator.ts";
import { ConfigError } from "../../errors.ts";
import { resolveRequest } from "../../mapping/resolve.ts";
import { runTrial, type Trial } from "../../operator/trial.ts";
import type { Program } from "../../program/build.ts";
import { isObject } from "../../shared/json.ts";
import type { TransformRunner } from "../../transforms/runner.ts";
import type { LogLine } from "../../types.ts";
import { readIfThere, readSampleRequest, type Sample, type SampleRequest } from "./find.ts";

/** What came of a sample. `unexpected` without `expected`: nothing has been accepted yet. */
export type SampleResult = { log: LogLine[]; durationMs: number } & (
  | { kind: "passed" }
  | { kind: "updated" }
  | { kind: "unexpected"; given: object[]; expected: object[] | undefined }
  | { kind: "failed"; reason: string }
);

export interface RunOptions {
  program: Program;
  runner: TransformRunner;
  /** Writes down what was given as what is expected. */
  update: boolean;
}

/**
 * Runs one sample through mapping, transform and policy, as the service would, and compares. Throws a `ConfigError` or a
 * `HookError` where the sample's own files are not what they should be.
 */
export async function runSample(sample: Sample, options: RunOptions): Promise<SampleResult> {
  const request = readSampleRequest(sample);
  const trial = await tryRequest(request, options);
  const { log, durationMs } = trial;
  if (!trial.ok) return { kind: "failed", reason: trial.detail ?? trial.error, log, durationMs };
  const given = toExpectation(trial.actions, request.body);
  const expected = readExpected(sample, request);
  if (isDeepStrictEqual(given, expected)) return { kind: "passed", log, durationMs };
  if (!options.update) return { kind: "unexpected", given, expected, log, durationMs };
  writeFileSync(sample.expectedFile, `${JSON.stringify(given, undefined, 2)}\n`);
  return { kind: "updated", log, durationMs };
}

function tryRequest(request: SampleRequest, { program, runner }: RunOptions): Promise<Trial> {
  const { payload, headers, query, receivedAt } = request;
  const rawBody = Buffer.from(request.body);
  const hook = program.mappings.mappings[0]?.match.path;
  return runTrial({ hook, payload, headers, query }, program, (posted) =>
    // A sample must pass wherever its transform is used, whatever channels are configured there.
    resolveRequest({ ...posted, rawBody, receivedAt }, { ...program, channels: undefined, run: runner.run }),
  );
}

function readExpected({ expectedFile }: Sample, { body }: SampleRequest): object[] | undefined {
  const text = readIfThere(expectedFile);
  if (text === undefined) return undefined;
  const { value } = parseSource(expectedFile, text);
  if (Array.isArray(value)) return toExpectation(value, body);
  throw new ConfigError([{ file: expectedFile, message: "Expected a list of actions; [] for none." }]);
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** What an action has where neither mapping nor transform says anything: left out of what is expected. */
const AS_USUAL: Record<string, unknown> = {
  mode: "now",
  wakeMode: "now",
  deliver: true,
  channel: "last",
  sessionKey: "hook:<uuid>",
  timeoutSeconds: resolveUserConfig({}, { baseDir: "/" }).agents.timeoutSeconds,
  allowUnsafeExternalContent: false,
};

/** The order in which fields are written and compared; others come after. */
const ORDER = Object.keys(readSchema("action")["properties"] ?? {});

/**
 * Actions in the form in which they are expected: short, and the same at each run. A random id, which is one that
 * the sample's `body` does not hold, stands as `<uuid>`.
 */
export function toExpectation(actions: unknown, body: string): object[] {
  const text = JSON.stringify(actions).replace(UUID, (id) => (body.includes(id) ? id : "<uuid>"));
  const settled: unknown = JSON.parse(text);
  return Array.isArray(settled) ? settled.filter(isObject).map(withoutUsual) : [];
}

function withoutUsual(action: object): object {
  const fields = Object.entries(action).filter(([name, value]) => AS_USUAL[name] !== value);
  return Object.fromEntries(fields.toSorted(([one], [other]) => placeOf(one) - placeOf(other)));
}

function placeOf(field: string): number {
  const place = ORDER.indexOf(field);
  return place === -1 ? ORDER.length : place;
}
