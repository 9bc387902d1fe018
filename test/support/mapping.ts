import path from "node:path";
import type { MappingInput, UserConfig } from "../../src/core/config/schema/generated.ts";
import { resolveUserConfig } from "../../src/core/config/load.ts";
import { builtInDrivers } from "../../src/service/drivers.ts";
import type { MappingSource, ResolvedConfig } from "../../src/core/config/resolved-config.ts";
import { type CompiledMapping, compileMapping } from "../../src/core/mapping/compile.ts";
import { createMappingIndex } from "../../src/core/mapping/mapping-index.ts";
import { TransformError } from "../../src/core/errors.ts";
import { resolveRequest } from "../../src/core/mapping/resolve-request.ts";
import { readServiceMail } from "../../src/mail/message/posted-mail.ts";
import type { TransformBundle, TransformCall, TransformOutcome } from "../../src/core/transforms/runner.ts";
import type { HookRequest, Resolution } from "../../src/core/types.ts";

/** A transform that runs in this process. Input and output pass through JSON, as in the sandbox. */
export type InlineTransform = (input: TransformCall) => unknown;

export interface Scenario {
  mappings?: (MappingInput | MappingSource)[];
  config?: UserConfig;
  /** Used by every mapping that names a transform. */
  transform?: InlineTransform;
  /** How long each of its calls takes, as it reports. */
  runMs?: number;
  /** Overrides of a plain POST of `payload` to `hook`. */
  request?: Partial<HookRequest>;
}

/** Sends a payload through the whole mapping step. */
export async function resolve(hook: string, payload: unknown, scenario: Scenario = {}): Promise<Resolution> {
  const { mappings = [], transform = () => undefined, runMs = 0 } = scenario;
  const config = toConfig(scenario.config);
  const index = createMappingIndex(mappings.map((mapping, place) => toCompiled(mapping, place)));
  const request = toRequest(hook, payload, scenario.request);
  return resolveRequest(request, {
    mappings: index,
    config,
    channels: undefined,
    run: runInline(transform, runMs),
    readMail: (service, posted) => readServiceMail(service, posted, config.hooks.mail[0]),
  });
}

export function toConfig(user: UserConfig = {}): ResolvedConfig {
  return resolveUserConfig(user, { baseDir: "/etc/hookline" }, builtInDrivers);
}

export function toSource(mapping: MappingInput, index = 0): MappingSource {
  const folder = path.resolve("/etc/hookline");
  return {
    mapping,
    id: mapping.id ?? `mapping-${index}`,
    file: path.join(folder, "webhooks.json5"),
    key: `hooks.mappings[${index}]`,
    transformsDir: path.join(folder, "transforms"),
    baseDir: folder,
  };
}

/** Throws if the mapping is invalid. */
export function toCompiled(mapping: MappingInput | MappingSource, index = 0): CompiledMapping {
  const source = isSource(mapping) ? mapping : toSource(mapping, index);
  const bundle = source.mapping.transform && toBundle(source);
  const compiled = compileMapping(source, { bundle, readFile: refuseFile });
  if (!compiled.mapping) throw new Error(compiled.problems.map(({ key, message }) => `${key}: ${message}`).join("\n"));
  return compiled.mapping;
}

export function toRequest(hook: string, payload: unknown, over: Partial<HookRequest> = {}): HookRequest {
  return {
    id: "0190f000-0000-7000-8000-000000000001",
    hook,
    method: "POST",
    path: `/hooks/${hook}`,
    query: {},
    headers: { "content-type": "application/json" },
    rawBody: over.rawBody ?? Buffer.from(JSON.stringify(payload) ?? ""),
    payload,
    payloadIsBody: true,
    contentType: "application/json",
    receivedAt: Date.UTC(2026, 10, 20, 10, 8),
    credential: "token",
    client: "127.0.0.1",
    ...over,
  };
}

function isSource(mapping: MappingInput | MappingSource): mapping is MappingSource {
  return "baseDir" in mapping;
}

function runInline(transform: InlineTransform, runMs: number) {
  return async (_bundle: TransformBundle, input: TransformCall): Promise<TransformOutcome> => {
    const log: TransformOutcome["log"] = [{ level: "log", text: "called" }];
    const value = await attempt(() => transform(JSON.parse(JSON.stringify(input))), log);
    if (value === undefined) return { value, log, runMs };
    return { value: JSON.parse(JSON.stringify(value)), log, runMs };
  };
}

async function attempt(call: () => unknown, log: TransformOutcome["log"]): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof TransformError) throw error;
    throw new TransformError("threw", String(error), { log, trace: "at transform (check.ts:3:9)" });
  }
}

function toBundle({ mapping, transformsDir }: MappingSource): TransformBundle {
  const file = path.join(transformsDir, mapping.transform?.module ?? "");
  const spec = {
    file,
    root: transformsDir,
    timeoutMs: 1000,
    memoryMb: 64,
    isolation: "request",
    secrets: {},
  } as const;
  return { spec, id: "inline", code: "", sourceMap: "", inputs: [file], manifests: [], bytes: 0, packages: [] };
}

function refuseFile(file: string): string {
  throw new Error(`${file} is not there`);
}
