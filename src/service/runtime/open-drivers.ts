import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { AgentDriver, ModelApi } from "../../core/ports/agent.ts";
import { createAgent } from "../../agents/select.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import type { ReadConfig } from "../../core/config/load.ts";
import type { Auth, MappingInput } from "../../core/config/schema/generated.ts";
import type { MappingSource, PresetReads, PresetWrites } from "../../core/config/resolved-config.ts";
import { type ConfigProblem, DriverError, type FoundProblem, messageOf } from "../../core/errors.ts";
import type { Sender } from "../../core/ingress/signature-authenticator.ts";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import type { MailAccount } from "../../core/ports/mail-source.ts";
import type { DriverContext, DriverDefinition, Workspaces } from "../../core/ports/driver.ts";
import type { OpenCall } from "../../core/ports/open-tool-sets.ts";
import type { RepositoryHost } from "../../core/ports/repository.ts";
import type { Mailbox, Runtime } from "../../core/ports/runtime.ts";
import { findVendor } from "../../core/ports/vendor.ts";
import { appendSegment, toObject } from "../../core/shared/json.ts";
import { toTempDir } from "../../core/shared/system/temporary-folder.ts";
import { channelKind } from "../../core/shared/channel-names.ts";
import { withPeriod, trimSlashes } from "../../core/shared/text/text.ts";
import { createReads } from "../../agents/tools/reads.ts";
import { createWrites } from "../../agents/tools/writes.ts";
import { findNoGit } from "../../agents/workspace/git.ts";
import { toMirrors } from "../../agents/workspace/mirror.ts";
import { createChangeCall } from "../../agents/workspace/change-call.ts";
import { listSecrets } from "../../core/shared/secret.ts";
import { findEqualNames, type MadeSet, openToolSets } from "../../agents/tools/tool-sets.ts";

/** The configured drivers. Nothing is connected yet. */
interface OpenDrivers extends Pick<Runtime, "agent" | "channels" | "tools" | "mailboxes"> {
  /** One for each hook and distinct `auth`. */
  senders: OpenSender[];
  /** The blocks whose drivers could not be made, for a reason that is no problem of the configuration yet. */
  problems: FoundProblem[];
}

/** Makes the drivers that a configuration names. */
export async function openDrivers(
  { config, drivers, isRefused, folderOf }: ReadConfig,
  { log, refreshTokens }: Pick<DriverContext, "log" | "refreshTokens">,
): Promise<OpenDrivers> {
  const problems: FoundProblem[] = [];
  const channels = new Map<string, ChannelDriver>();
  const workspaces: Workspaces = {
    mirrors: toMirrors(config.store.path),
    findHost: (account) => toHost(channels.get(account)),
    secrets: findSecrets(config),
  };
  const [withFiles] = config.hooks.mappings.filter(({ mapping }) => mapping.workspace);
  const noGit = withFiles && findNoGit();
  if (noGit !== undefined) problems.push({ file: withFiles?.file, key: `${withFiles?.key}.workspace`, message: noGit });
  const agents = new Map<string, AgentDriver>();
  for (const [name, { kind, ...options }] of Object.entries(config.agents.providers)) {
    const agent = await open(drivers.agents[kind], { key: appendSegment("agents.providers", name), name, options });
    if (agent) agents.set(name, agent);
  }
  const made = new Map<string, MadeSet>();
  for (const [name, block] of Object.entries(config.agents.tools)) {
    const key = appendSegment("agents.tools", name);
    const set = await open(drivers.tools[block.kind], { key, name, options: block.options });
    if (set) made.set(name, { set, block });
  }
  const mailboxes: Mailbox[] = [];
  for (const settings of config.hooks.mail) {
    const { kind = "", ...options } = settings.source ?? {};
    const key = `${settings.key}.source`;
    const source = await open(drivers.mailSources[kind], { key, name: settings.name, options });
    const same = source && mailboxes.find((other) => other.source.mailbox === source.mailbox);
    if (same)
      problems.push({
        key,
        message: `This is also the mailbox of ${same.settings.key}. List its folders there.`,
        other: { key: same.settings.key },
      });
    else if (source) mailboxes.push({ settings, source });
  }
  for (const [name, options] of Object.entries(config.channels)) {
    const channel = await open(drivers.channels[channelKind(name)], {
      key: appendSegment("channels", name),
      name,
      options,
    });
    if (channel) channels.set(name, channelKind(name) === name ? channel : asAccount(channel, name));
  }
  for (const reads of config.hooks.reads) {
    const opened = await openPresetReads(reads);
    if (opened) made.set(reads.set, opened);
  }
  const writes = new Map(config.hooks.writes.flatMap((one) => openPresetWrites(one)));
  const tools = openToolSets(made, { changes: openChanges(), writes });
  for (const { account, calls, key } of config.hooks.writes) {
    const taken = Object.keys(calls).find((call) => made.get(account)?.set.calls.some(({ name }) => name === call));
    const message = `The tool set "${account}" has a call "${taken}", as the preset. Rename the set.`;
    if (taken !== undefined) problems.push({ key, message });
  }
  const equalNames = findEqualNames(tools.list());
  if (equalNames !== undefined) problems.push({ key: "agents.tools", message: equalNames });
  const senders: OpenSender[] = [];
  for (const group of groupSenders(config.hooks.mappings)) {
    const { auth, key, file, credential: name } = group;
    const { scheme, ...block } = auth;
    const verifier = await open(drivers.providers[scheme], { key, file, name, options: block });
    const preset = group.mappings.find((source) => source.preset !== undefined)?.preset;
    const { provesByButton } = findVendor(drivers.vendors, preset) ?? {};
    if (verifier) senders.push({ ...group, verifier, provesByButton, ...readAuth(auth) });
  }
  return { agent: createAgent(agents), channels, tools, mailboxes, senders, problems };

  /** The calls that publish changes, for each account with repositories. */
  function openChanges(): Map<string, OpenCall> {
    const { mirrors } = workspaces;
    const accounts = [...channels.keys()].flatMap((account): [string, OpenCall][] => {
      const host = workspaces.findHost(account);
      const dryRun = config.channelRules.get(account)?.dryRun ?? false;
      return host
        ? [[account, createChangeCall(account, { host, mirrors, tempDir: toTempDir(config.store), dryRun })]]
        : [];
    });
    return new Map(accounts);
  }

  function modelApi(provider: string): ModelApi | undefined {
    return agents.get(provider)?.modelApi;
  }

  function mailAccount(name: string): MailAccount | undefined {
    return mailboxes.find(({ settings }) => settings.name === name)?.source.account;
  }

  async function openPresetReads(reads: PresetReads): Promise<MadeSet | undefined> {
    const { set, preset, channel, readToken, calls, key } = reads;
    const authorize = await findReadAccess(reads);
    if (!authorize) {
      const step = channel === undefined ? "" : `Add the block ${appendSegment("channels", channel)}, or set`;
      const message = `The context of "${preset}" is read with a credential that is missing. ${step || "Set"} readToken beside context.`;
      problems.push({ key, message });
      return undefined;
    }
    const secret = readToken ?? toObject(config.channels[channel ?? ""])["token"];
    return {
      set: createReads(set, { calls, authorize, compileTemplate }),
      block: { ...READS, options: { headers: typeof secret === "string" ? { token: secret } : {} } },
    };
  }

  function openPresetWrites({ preset, account, key, ...offered }: PresetWrites): [string, MadeSet][] {
    const channel = channels.get(account);
    if (!channel) {
      const message = `What "${preset}" grants needs the credential of a channel. Add the block ${appendSegment("channels", account)}.`;
      problems.push({ key, message });
      return [];
    }
    const secret = toObject(config.channels[account])["token"];
    const headers = typeof secret === "string" ? { token: secret } : {};
    const dryRun = config.channelRules.get(account)?.dryRun ?? false;
    const set = createWrites({ account, ...offered, channel, compileTemplate });
    return [[account, { set, block: { ...WRITES, dryRun, options: { headers } } }]];
  }

  /** The preset's own token has precedence over the credential of its channel. */
  async function findReadAccess(reads: PresetReads): Promise<ChannelDriver["authorize"]> {
    const { preset: name, channel, baseUrl, readToken, key } = reads;
    if (channel !== undefined && readToken === undefined) return channels.get(channel)?.authorize;
    if (channel !== undefined) {
      const options = { ...config.channels[channel], token: readToken, app: undefined };
      return (await open(drivers.channels[channelKind(channel)], { key, name, options }))?.authorize;
    }
    if (baseUrl === undefined || readToken === undefined) return undefined;
    return async () => ({ baseUrl, headers: { authorization: `Bearer ${readToken}` } });
  }

  async function open<Driver>(
    definition: DriverDefinition<Driver> | undefined,
    { key, file, name, options: given }: { key: string; file?: string; name: string; options: object },
  ): Promise<Driver | undefined> {
    try {
      const { baseDir, store } = config;
      return await definition?.create(given, {
        name,
        baseDir: folderOf(key),
        configDir: baseDir,
        tempDir: toTempDir(store),
        stateDir: path.join(store.path, toFolderName(key)),
        idleAfterMs: config.session.idleAfterMs,
        log,
        compileTemplate,
        workspaces,
        modelApi,
        mailAccount,
        refreshTokens,
      });
    } catch (error) {
      if (isRefused({ key, file })) return undefined;
      const message = `The driver does not accept these options: ${withPeriod(messageOf(error))}`;
      problems.push({ key, file, message });
      return undefined;
    }
  }
}

function toHost({ openGit, findPull, openPull }: Partial<RepositoryHost> = {}): RepositoryHost | undefined {
  return openGit && findPull && openPull ? { openGit, findPull, openPull } : undefined;
}

/** Secrets of the configuration: values whose names say so, and headers. */
function findSecrets({ gateway, hooks, agents, channels }: ReadConfig["config"]): Map<string, string> {
  const { token = "" } = gateway;
  return new Map([
    ["gateway.auth.token", token] as const,
    ...listSecrets(hooks.tokens, "hooks.tokens"),
    ...hooks.mappings.flatMap(({ mapping: { auth }, key }) => listSecrets(auth, `${key}.auth`)),
    ...listSecrets(agents.providers, "agents.providers"),
    ...Object.entries(agents.tools).flatMap(([name, { options }]) => listSecrets(options, `agents.tools.${name}`)),
    ...listSecrets(channels, "channels"),
  ]);
}

/** Settings of a preset's tool set, equal to the defaults of `agents.tools`. */
const READS = {
  kind: "reads",
  audience: "private",
  maxResultLength: 60_000,
  callTimeoutMs: 60_000,
  dryRun: false,
} as const;

/** Settings of the calls of presets. Their results hold nothing that the place of the event does not show. */
const WRITES = { ...READS, kind: "writes", audience: "public", maxResultLength: 4000 } as const;

/** A driver under the name of an account, whose errors name the block of that account. */
function asAccount(driver: ChannelDriver, name: string): ChannelDriver {
  const written = `channels.${channelKind(name)}`;
  const send: ChannelDriver["send"] = async (message, signal) => {
    try {
      return await driver.send(message, signal);
    } catch (error) {
      if (!(error instanceof DriverError) || !error.message.includes(written)) throw error;
      const { retryable, retryAfterMs } = error;
      const text = error.message.replaceAll(written, appendSegment("channels", name));
      throw new DriverError(text, { retryable, retryAfterMs, cause: error.cause });
    }
  };
  return new Proxy(driver, {
    get(target, key) {
      if (key === "name") return name;
      if (key === "send") return send;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** `agents.tools.tickets` → `agents-tools-tickets` */
function toFolderName(key: string): string {
  return key.replaceAll(/[^\w-]+/g, "-");
}

/** The mappings of one hook that have the same `auth`. They share a verifier and a credential, so each of them can match. */
interface SenderGroup extends Pick<Sender, "hook" | "credential"> {
  auth: Auth;
  mappings: MappingSource[];
  /** Where the `auth` is written. */
  key: string;
  file: string | undefined;
}

interface OpenSender extends Sender, SenderGroup {}

export function groupSenders(mappings: MappingSource[]): SenderGroup[] {
  const groups: SenderGroup[] = [];
  for (const source of mappings) {
    const { auth, match } = source.mapping;
    if (!auth || match?.path === undefined) continue;
    const hook = trimSlashes(match.path);
    const ofHook = groups.filter((group) => group.hook === hook);
    const same = ofHook.find((group) => isDeepStrictEqual(group.auth, auth));
    if (same) {
      same.mappings.push(source);
      continue;
    }
    const credential = nameCredential(source, hook, groups);
    groups.push({ hook, auth, credential, mappings: [source], key: `${source.key}.auth`, file: source.file });
  }
  return groups;
}

/** By the preset, by its path where it is used twice, or by the mapping: the name stays when the secret is rotated. */
function nameCredential({ preset = "", id }: MappingSource, hook: string, others: SenderGroup[]): string {
  const names = preset === "" ? [id] : [preset, hook, id];
  const free = names.find((name) => others.every(({ credential }) => credential !== `auth:${name}`));
  return `auth:${free ?? id}`;
}

/** The part of an `auth` that the authenticators need, whatever its scheme is. */
function readAuth({ scheme, secret = [], url }: Auth): Pick<Sender, "secrets" | "showsToken" | "url"> {
  // A secret from a file or a shell tends to end in a line break. Node reads header bytes as Latin-1.
  const secrets = [secret].flat().map((text) => Buffer.from(String(text).trim()).toString("latin1"));
  return { secrets, showsToken: scheme === "token", url: typeof url === "string" ? url : undefined };
}

/** A sender that has stopped waiting shows an error instead of the answer. */
export function findSlowAnswers(sender: OpenSender): ConfigProblem[] {
  return findSlow(sender, { key: "answer.wait", what: "This" }, ({ answer }) => (answer?.wait ?? 0) * 1000);
}

/** A sender that has stopped waiting delivers again, or counts the delivery as failed. */
export function findSlowTransforms(sender: OpenSender): ConfigProblem[] {
  const about = { key: "transform.timeoutMs", what: "The timeout" };
  return findSlow(sender, about, ({ transform }) => transform?.timeoutMs ?? 0);
}

function findSlow(
  { auth, verifier: { senderTimeoutMs = Infinity }, mappings }: OpenSender,
  { key, what }: { key: string; what: string },
  readMs: (mapping: MappingInput) => number,
): ConfigProblem[] {
  const message = `${what} is longer than the ${senderTimeoutMs} ms that ${auth.scheme} waits for an answer. Set a shorter one.`;
  const slow = mappings.filter(({ mapping }) => readMs(mapping) > senderTimeoutMs);
  return slow.map((source) => ({ file: source.file, key: `${source.key}.${key}`, message }));
}
