import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { hasOwnMark } from "../vendors/kit/comments/mark.ts";
import { withEnvFile } from "../core/config/env-file.ts";
import type { ReadConfig } from "../core/config/load.ts";
import { makeTempDir } from "../core/shared/system/temporary-folder.ts";
import { readConfig } from "./drivers.ts";
import { ConfigError } from "../core/errors.ts";
import { createParsers, type FindParser } from "../core/ingress/parse-body.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { HooklineOptions } from "./library.ts";
import type { IsOwn } from "../core/mapping/match.ts";
import { createLiveStream, type LiveStream } from "../operator/http/stream.ts";
import type { Saving } from "../operator/saving.ts";
import { isLoopback } from "../core/shared/net/network.ts";
import { toShape, writeModule } from "./authoring/module-text.ts";
import { saveMapping } from "./authoring/save-mapping.ts";
import { buildRuntime } from "./runtime/build.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { createTokenStores, openJournal } from "./stores.ts";
import { createTelemetry, type Telemetry } from "../core/telemetry/telemetry.ts";
import { type CodeCache, createCodeCache } from "../core/transforms/code-cache.ts";
import type { TransformRunner } from "../core/transforms/runner.ts";
import type { Pool } from "../core/transforms/sandbox/pool.ts";
import { createSandbox } from "../core/transforms/sandbox/sandbox.ts";

export interface PartsOptions extends HooklineOptions {
  /** Shows what happens, from a stream as `GET /api/stream` gives it. It gets the journal's last change before `close` ends. */
  show?(stream: Readable): Promise<void>;
  /** For its sandbox. Default: new processes. */
  pool?: Pool;
  /** The operator's page may write mappings and transforms, on a loopback address. */
  saves?: boolean;
  /** The address of a tunnel to `serveHook`. */
  hooksUrl?: string;
  /** A file with variables that `env` does not have, read at each reload. It may not exist. */
  envFile?: string;
}

/** The parts that all others of the service use. */
export interface Parts {
  startedAt: string;
  /** Where the state is. Only a restart changes it. */
  store: ReadConfig["config"]["store"];
  telemetry: Telemetry;
  sandbox: TransformRunner;
  cache: CodeCache;
  journal: Journal;
  stream: LiveStream;
  findParser: FindParser;
  /** The runtime in use. A request takes it once and keeps it to its end. */
  current(): Runtime;
  replace(runtime: Runtime): void;
  /** Writes what the page saves. */
  saving: Saving;
  /** Reads the configuration again. Throws a `ConfigError` with all problems. `signal`: its result is not wanted any more. */
  build(generation: number, signal: AbortSignal): Promise<Runtime>;
  /** Whether a comment has the service's own mark. */
  isOwn: IsOwn;
}

/** Throws a `ConfigError` with all problems that keep the service from starting. Nothing is left open then. */
export async function openParts(options: PartsOptions): Promise<Parts> {
  const startedAt = new Date().toISOString();
  const load = createLoad(options);
  const readAt = Date.now();
  const read = await load();
  const { log: logSettings, store } = read.config;
  const telemetry = createTelemetry(logSettings.level, { hasLiveView: options.show !== undefined });
  const sandbox = createSandbox({ telemetry, pool: options.pool, findTempDir: () => makeTempDir(store.path) });
  const cache = createCodeCache();
  // Nothing is sent before it is open.
  let journal: Journal;
  const refreshTokens = createTokenStores(store, () => journal);
  const tools = { runner: sandbox, log: telemetry.log, cache, refreshTokens };
  try {
    let inUse = await buildRuntime({ generation: 1, readAt, load: async () => read, ...tools });
    journal = await openJournal(store, telemetry);
    return {
      startedAt,
      store,
      telemetry,
      sandbox,
      cache,
      journal,
      stream: createLiveStream({ journal, log: telemetry.log }),
      findParser: createFindParser(() => inUse),
      current: () => inUse,
      saving: {
        isOn: () => options.saves === true && isLoopback(inUse.config.gateway.host),
        save: (body) => saveMapping(body, { config: inUse.config, env: readVariables(options) }),
        start: (name, payloads) => ({ [`${name}.ts`]: writeModule(name, toShape(payloads), undefined) }),
      },
      replace: (runtime) => void (inUse = runtime),
      build: (generation, signal) => buildRuntime({ generation, load, signal, ...tools }),
      isOwn: (comment) => hasOwnMark(comment, journal.sign),
    };
  } catch (error) {
    // A failed start must not leave a sandbox process behind.
    await sandbox.close();
    throw error;
  }
}

function createFindParser(current: () => Runtime): FindParser {
  return createParsers({
    async readMail(source, receivedAt) {
      const { readPostedMail } = await import("../mail/message/posted-mail.ts");
      return readPostedMail(source, receivedAt, current().config.hooks.mail[0]);
    },
    takesText: (hook) => current().mappings.takesText(hook),
  });
}

/** Reads the configuration at each call, and applies what the options override. */
/** The variables that references of the configuration can name. */
function readVariables({ env = process.env, envFile }: PartsOptions): NodeJS.ProcessEnv {
  return envFile !== undefined && existsSync(envFile) ? withEnvFile(env, envFile) : env;
}

function createLoad(options: PartsOptions): () => Promise<ReadConfig> {
  const { config, host, port, role, upgradeStore, hooksUrl, envFile } = options;
  return async () => {
    const read = await readConfig(config, readVariables(options), { hooksUrl });
    if (envFile !== undefined) read.files.push(envFile);
    const { gateway, store } = read.config;
    gateway.host = host ?? gateway.host;
    gateway.port = port ?? gateway.port;
    gateway.role = role ?? gateway.role;
    if (store.postgres) store.postgres.upgrade = upgradeStore ?? store.postgres.upgrade;
    if (role !== undefined && role !== "all" && !store.postgres) {
      const message = `A database is required for the role ${role}, because others must share the store.`;
      throw new ConfigError([{ key: "store.url", message }]);
    }
    return read;
  };
}
