import { BlockList, isIP } from "node:net";
import type { DriverDefinition } from "../../ports/driver.ts";
import type { Vendors } from "../../ports/vendor.ts";
import { listFound } from "../../shared/found.ts";
import { appendSegment, readOwn } from "../../shared/json.ts";
import { SOURCE_CHANNEL, channelKind, toChannelName } from "../../shared/channel-names.ts";
import { trimSlashes } from "../../shared/text/text.ts";
import { DAY_MS } from "../../shared/time.ts";
import type { Drivers } from "../plugins.ts";
import { listApiAccesses, toApiAccess } from "../presets/api-access.ts";
import { MAIL_DEFAULTS, type MailSettings, type ResolvedConfig } from "../resolved-config.ts";
import { checkAgents, checkTools } from "./agents.ts";
import { checkTokens } from "./auth.ts";
import { checkChannel, error, type Finding, findUnused, staticText, warning } from "./finding.ts";
import { checkFixedGrants } from "./call-grants.ts";
import { checkDefaultSessionKey, checkMappings } from "./mappings.ts";
import { checkMcp } from "./mcp.ts";
import { checkPlaces } from "./place.ts";

interface DriverPlaces {
  /** The folder that the paths of a driver's block are relative to. */
  folderOf(key: string): string;
  /** The files of the configuration, absolute, and those that it refers to. */
  ownFiles: readonly string[];
}

/** Finds what the schema cannot express. No finding contains a secret. */
export function applyRules(config: ResolvedConfig, drivers: Drivers, places: DriverPlaces): Finding[] {
  return [...RULES.flatMap((rule) => rule(config, drivers)), ...checkDrivers(config, drivers, places)];
}

const RULES: ((config: ResolvedConfig, drivers: Drivers) => Finding[])[] = [
  checkGateway,
  checkEnabled,
  checkTokens,
  checkHooksPath,
  checkDefaultSessionKey,
  checkMail,
  checkMappings,
  checkAgents,
  checkTools,
  checkStore,
  checkAlerts,
  checkApprovals,
  checkHeartbeat,
  checkFixedGrants,
  checkMcp,
  checkCatchUp,
  checkPlaces,
];

function checkDrivers(
  { agents, channels, hooks, store }: ResolvedConfig,
  drivers: Drivers,
  { folderOf, ownFiles }: DriverPlaces,
): Finding[] {
  const ownPaths = [store.path, ...ownFiles];
  const kindOf = (provider: string): string | undefined => agents.providers[provider]?.kind;
  return [
    ...Object.entries(agents.providers).flatMap(([name, block]) =>
      checkBlock(appendSegment("agents.providers", name), block, drivers.agents[block.kind]),
    ),
    ...Object.entries(agents.tools).flatMap(([name, { kind, options }]) =>
      checkBlock(appendSegment("agents.tools", name), options, drivers.tools[kind]),
    ),
    ...Object.entries(channels).flatMap(([name, block]) =>
      checkBlock(appendSegment("channels", name), block, drivers.channels[channelKind(name)]),
    ),
    ...hooks.mail.flatMap(({ key, source }) =>
      checkBlock(`${key}.source`, source, drivers.mailSources[source?.kind ?? ""]),
    ),
    ...hooks.mappings.flatMap(({ mapping: { auth }, key, file }) =>
      checkBlock(`${key}.auth`, auth, drivers.providers[auth?.scheme ?? ""]).map((finding) => ({ ...finding, file })),
    ),
  ];

  function checkBlock(place: string, block?: object, definition?: DriverDefinition<unknown>): Finding[] {
    const problems = (block && definition?.check?.(block, { baseDir: folderOf(place), ownPaths, kindOf })) ?? [];
    return problems.map(({ key, message, level = "error" }) => ({
      level,
      key: key === undefined ? place : `${place}.${key}`,
      message,
    }));
  }
}

/** A trusted proxy is an IP address or a range of them in CIDR notation. */
function checkGateway({ gateway }: ResolvedConfig): Finding[] {
  return gateway.trustedProxies.flatMap((entry, index) =>
    isIP(entry) !== 0 || isRange(entry)
      ? []
      : error(`gateway.trustedProxies[${index}]`, "A proxy must be an IP address or a range such as 10.0.0.0/8."),
  );
}

function isRange(entry: string): boolean {
  const [, network = "", prefix] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? [];
  try {
    new BlockList().addSubnet(network, Number(prefix), isIP(network) === 6 ? "ipv6" : "ipv4");
    return true;
  } catch {
    return false;
  }
}

/** Hooks that are described are on, and the operator can see what becomes of them. */
function checkEnabled({ gateway, hooks }: ResolvedConfig): Finding[] {
  const isBlind = hooks.enabled && !gateway.token;
  const isOff = !hooks.enabled && (hooks.mappings.length > 0 || hooks.token !== "");
  const message =
    "The gateway token is not set, so /api and the operator's commands are off. Set a long random secret.";
  return listFound(
    isBlind && warning("gateway.auth.token", message),
    isOff && warning("hooks.enabled", "Hooks are off, so every hook answers 404. Set hooks.enabled to true."),
  );
}

/** Paths that the service answers itself. */
const RESERVED_PATHS = ["/api", "/healthz", "/readyz", "/metrics", "/mail/push"];

/** Only characters that no client or proxy encodes in another way. */
const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/;

/** Requests to hooks can be told from all others that the service answers. */
function checkHooksPath({ hooks }: ResolvedConfig): Finding[] {
  const message = findPathProblem(hooks.path);
  return listFound(message && error("hooks.path", message));
}

function findPathProblem(path: string): string | undefined {
  if (path === "/") return 'The path must not be "/", because every path would be a hook. Use one like "/hooks".';
  if (!SEGMENTS.test(path)) return "The path must consist of /segments of letters, digits, - . _ and ~.";
  if (path.split("/").some((segment) => segment === "." || segment.includes(".."))) {
    return 'The path must not contain ".." or a segment ".".';
  }
  const reserved = RESERVED_PATHS.find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  return reserved && `The path must not be ${reserved} or below it: the service answers that itself. Choose another.`;
}

/** Settings that need a database, or that a database does not support. */
function checkStore({ gateway: { role }, store: { postgres, retention } }: ResolvedConfig): Finding[] {
  if (!postgres) {
    const message = `The role must be "all" without store.url, because a node of another role needs others that share its store.`;
    return listFound(role !== "all" && error("gateway.role", message));
  }
  const message =
    "This limit cannot be kept with store.url, where space is freed by the month. Set retention.maxAge, and use pg_dump to archive.";
  return listFound(
    checkDatabaseUrl("store.url", postgres.url),
    postgres.leaseUrl !== undefined && checkDatabaseUrl("store.leaseUrl", postgres.leaseUrl),
    retention.maxBytes !== undefined && error("store.retention.maxBytes", message),
  );
}

function checkDatabaseUrl(key: string, url: string): Finding | false {
  const { hostname = "", pathname = "" } = URL.parse(url) ?? {};
  const message = "The URL must name a host and a database, such as postgres://hookline@db.example.com/hookline.";
  return (hostname === "" || pathname.length <= 1) && error(key, message);
}

/** A watched mailbox needs a hook that takes its mails. Its driver checks the mailbox itself. */
function checkMail(config: ResolvedConfig): Finding[] {
  const { mail } = config.hooks;
  return mail.flatMap((mailbox, index) => {
    const { key, name } = mailbox;
    const channel = staticText(mailbox.channel);
    const isTaken = mail.slice(0, index).some((other) => other.name === name);
    const message = `"${name}" is already the name of another mailbox. Give each a different name.`;
    const same = mail.slice(0, index).find((other) => accountOf(other) === accountOf(mailbox));
    return listFound(
      same !== undefined &&
        error(
          `${key}.source`,
          `This is the account of ${same.key}, and one process watches an account once. Add its folders there.`,
          same.key,
        ),
      channel !== undefined && checkChannel(`${key}.channel`, channel, config, ["last", SOURCE_CHANNEL]),
      isTaken && error(`${key}.name`, message),
      checkMailbox(mailbox, config.hooks),
    );
  });
}

/** Identifies an account; another text for each mailbox without a source. */
function accountOf({ key, source }: MailSettings): string {
  if (!source) return key;
  const parts = ["kind", "host", "port", "user"].map((name) => readOwn(source, name));
  return JSON.stringify(parts).toLowerCase();
}

function checkMailbox(mailbox: MailSettings, { enabled, mappings, presets }: ResolvedConfig["hooks"]): Finding[] {
  const { key, source, filter, authservId } = mailbox;
  const reason = ': only the mail preset reads it. Set it on the mapping, or add "mail" to hooks.presets.';
  const isAtGoogle = /^imap\.(?:gmail|googlemail)\.com$/i.test(String(source && readOwn(source, "host")));
  const isForged = source?.kind === "imap" && filter.dmarc && authservId === undefined && !isAtGoogle;
  const isTaken = mappings.some(({ mapping: { match } }) => trimSlashes(match?.path ?? "mail") === "mail");
  const problem = enabled
    ? !isTaken && 'The mailbox posts to a hook that no mapping answers. Add "mail" to hooks.presets.'
    : "The mailbox posts nothing while hooks are off. Set hooks.enabled to true.";
  return listFound(
    !presets.some(({ name }) => name === "mail") && findUnused(key, mailbox, MAIL_DEFAULTS, reason),
    isForged &&
      warning(`${key}.filter.dmarc`, "The DMARC result can be forged if the server does not add one. Set authservId."),
    source && problem && warning(`${key}.source`, problem),
  );
}

/** Replies to heartbeats have a channel that is configured, and a recipient there. */
function checkHeartbeat(config: ResolvedConfig): Finding[] {
  const { channel, to } = config.agents.heartbeat;
  const key = "agents.defaults.heartbeat";
  if (channel === undefined) return to === undefined ? [] : [error(`${key}.channel`, "Set a channel too, or no to.")];
  if (to === undefined) return [error(`${key}.to`, "Set a recipient too, or no channel.")];
  return checkChannel(`${key}.channel`, channel, config);
}

/** Questions go to a channel that is configured, or are answered on the page alone. */
function checkApprovals(config: ResolvedConfig, { vendors }: Drivers): Finding[] {
  const { approvals } = config.agents;
  if (!approvals) return [];
  const { channel, to, by } = approvals;
  const key = "agents.approvals";
  return listFound(
    channel === undefined && to !== undefined && error(`${key}.channel`, "Set a channel too, or no to."),
    channel !== undefined && to === undefined && error(`${key}.to`, "Set a recipient too, or no channel."),
    channel === undefined && by.length > 0 && error(`${key}.by`, "Answers come in messages: set channel and to too."),
    channel !== undefined && checkChannel(`${key}.channel`, channel, config),
    channel !== undefined && to !== undefined && checkAnswers({ channel, to, by }, config, vendors),
    approvals.expiresMs > MAX_EXPIRY_MS &&
      error("agents.approvals.expires", "A question can wait for 30 days at most: set 30d or less."),
  );
}

/** Messages are answers only if the preset of their service verifies them. */
function checkAnswers(
  { channel, to, by }: { channel: string; to: string; by: readonly string[] },
  { hooks }: ResolvedConfig,
  vendors: Vendors,
): Finding[] {
  const kind = channelKind(channel);
  if (by.length > 0 && /^[#@]/.test(to)) {
    const message = `Answers come with the id of their place, and ${to} is a name. Write the id (in Slack it is below the details of a channel: C0123456789), or remove by.`;
    return [error("agents.approvals.to", message)];
  }
  const isTaken = hooks.mappings.some(
    ({ preset, mapping: { auth, source } }) =>
      preset === kind && auth && toChannelName(source?.channel ?? "") === channel,
  );
  if (by.length === 0 || isTaken) return [];
  const chats = Object.keys(vendors).filter((name) => vendors[name]?.readMessage ?? vendors[name]?.readPress);
  const remedy = chats.includes(kind)
    ? `Add the preset "${kind}" with a secret${kind === channel ? "" : " and this account"}, which verifies who wrote.`
    : `Only people in ${chats.join(", ")} can. Remove by, and answer on the page or with npx hookline approvals.`;
  return [warning("agents.approvals.by", `Nobody on ${channel} can answer a question. ${remedy}`)];
}

/** The time for which a code names its approval. */
const MAX_EXPIRY_MS = 30 * DAY_MS;

/** Each alert has a channel that is configured, and what its kind needs. */
function checkAlerts(config: ResolvedConfig): Finding[] {
  return config.alerts.flatMap(({ key, on, channel, hook, afterMs: after }) => {
    const isTimed = on.includes("no-event-for");
    return listFound(
      checkChannel(`${key}.channel`, channel, config),
      !isTimed && findUnused(key, { hook, after }, ["hook", "after"], ': it is for "no-event-for". Remove it.'),
      isTimed &&
        after === undefined &&
        error(`${key}.after`, 'A duration is required for "no-event-for", such as after: "24h".'),
    );
  });
}

/** Nobody can be asked for a token when the service finds a gap. */
function checkCatchUp(config: ResolvedConfig): Finding[] {
  const uses = config.hooks.presets.filter((use) => use.with["catchUp"] === true);
  return uses.flatMap((use) => {
    const key = `${use.key}.with.catchUp`;
    const { token } = toApiAccess(use, config, undefined);
    const where = `Set with.apiToken, or channels.${use.name}.token.`;
    const isLost = listApiAccesses(use, config).length === 0;
    return listFound(
      token === undefined && error(key, `catchUp needs a stored token of the sender's API. ${where}`),
      isLost && error(key, "catchUp needs to know where the webhook is. Set with.place."),
    );
  });
}
