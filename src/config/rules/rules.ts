import { BlockList, isIP } from "node:net";
import type { DriverDefinition } from "../../plugin.ts";
import { appendSegment } from "../../shared/json.ts";
import { SOURCE_CHANNEL } from "../../types.ts";
import type { Drivers } from "../plugins.ts";
import { trimSlashes } from "../resolve.ts";
import { MAIL_DEFAULTS, type MailSettings, type ResolvedConfig } from "../types.ts";
import { checkAgents } from "./agents.ts";
import { checkTokens } from "./auth.ts";
import { checkChannel, error, type Finding, findUnused, staticText, warning } from "./finding.ts";
import { checkDefaultSessionKey, checkMappings } from "./mappings.ts";

/** Finds what the schema cannot express. No finding contains a secret. */
export function applyRules(config: ResolvedConfig, drivers: Drivers): Finding[] {
  return [...RULES.flatMap((rule) => rule(config, drivers)), ...checkDrivers(config, drivers)];
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
  checkStore,
  checkAlerts,
];

/** Each driver checks its own block. */
function checkDrivers({ agents, channels, hooks, baseDir }: ResolvedConfig, drivers: Drivers): Finding[] {
  return [
    ...Object.entries(agents.providers).flatMap(([name, block]) =>
      checkBlock(appendSegment("agents.providers", name), block, drivers.agents[block.kind]),
    ),
    ...Object.entries(channels).flatMap(([name, block]) =>
      checkBlock(appendSegment("channels", name), block, drivers.channels[name]),
    ),
    ...hooks.mail.flatMap(({ key, source }) =>
      source ? checkBlock(`${key}.source`, source, drivers.mailSources[source.kind]) : [],
    ),
    ...hooks.mappings.flatMap(({ mapping: { auth }, key, file }) =>
      auth
        ? checkBlock(`${key}.auth`, auth, drivers.providers[auth.scheme]).map((finding) => ({ ...finding, file }))
        : [],
    ),
  ];

  function checkBlock(place: string, block: object, definition: DriverDefinition<unknown> | undefined): Finding[] {
    const problems = definition?.check?.(block, { baseDir }) ?? [];
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
      : error(`gateway.trustedProxies[${index}]`, "must be an IP address or a CIDR range such as 10.0.0.0/8"),
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
  if (hooks.enabled && !gateway.token) {
    return [warning("gateway.auth.token", "is not set, so /api and the operator's commands are off")];
  }
  if (hooks.enabled || (hooks.mappings.length === 0 && hooks.token === "")) return [];
  return [warning("hooks.enabled", "is not true, so every hook answers 404: set hooks.enabled to true")];
}

/** Paths that the service answers itself. */
const RESERVED_PATHS = ["/api", "/healthz", "/readyz", "/metrics", "/mail/push"];

/** Only characters that no client or proxy encodes in another way. */
const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/;

/** Requests to hooks can be told from all others that the service answers. */
function checkHooksPath({ hooks }: ResolvedConfig): Finding[] {
  const message = findPathProblem(hooks.path);
  return message === undefined ? [] : [error("hooks.path", message)];
}

function findPathProblem(path: string): string | undefined {
  if (path === "/") return 'must not be "/": every path would be a hook; use one like "/hooks"';
  if (!SEGMENTS.test(path)) return "must consist of /segments of letters, digits, - . _ and ~";
  if (path.split("/").some((segment) => segment === "." || segment.includes(".."))) {
    return 'must not contain ".." or a segment "."';
  }
  const reserved = RESERVED_PATHS.find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  return reserved && `must not be or lie under ${reserved}, which the service answers itself`;
}

/** Settings that need a database, or that a database does not support. */
function checkStore({ gateway, store: { postgres, retention } }: ResolvedConfig): Finding[] {
  if (!postgres) return checkRole(gateway);
  return [...checkUrl(postgres.url), ...checkSize(retention)];
}

function checkRole({ role }: ResolvedConfig["gateway"]): Finding[] {
  if (role === "all") return [];
  return [
    error("gateway.role", `must be "all" without store.url: a node of another role needs others that share its store`),
  ];
}

function checkUrl(url: string): Finding[] {
  const { hostname = "", pathname = "" } = URL.canParse(url) ? new URL(url) : {};
  if (hostname !== "" && pathname.length > 1) return [];
  return [error("store.url", "must name a host and a database, such as postgres://hookline@db.example.com/hookline")];
}

function checkSize({ maxBytes }: ResolvedConfig["store"]["retention"]): Finding[] {
  if (maxBytes === undefined) return [];
  const message =
    "cannot be kept with store.url, where space is freed by the month: set retention.maxAge, and use pg_dump to archive";
  return [error("store.retention.maxBytes", message)];
}

/** A watched mailbox needs a hook that takes its mails. Its driver checks the mailbox itself. */
function checkMail(config: ResolvedConfig): Finding[] {
  const { mail } = config.hooks;
  return mail.flatMap((mailbox, index) => {
    const { key, name } = mailbox;
    const channel = staticText(mailbox.channel);
    const isTaken = mail.slice(0, index).some((other) => other.name === name);
    const message = `"${name}" is already the name of another mailbox: give each its own`;
    return [
      ...(channel === undefined ? [] : checkChannel(`${key}.channel`, channel, config, ["last", SOURCE_CHANNEL])),
      ...(isTaken ? [error(`${key}.name`, message)] : []),
      ...checkMailbox(mailbox, config.hooks),
    ];
  });
}

function checkMailbox(mailbox: MailSettings, { enabled, mappings, presets }: ResolvedConfig["hooks"]): Finding[] {
  const { key, source, filter, authservId } = mailbox;
  const findings: Finding[] = [];
  if (!presets.some(({ name }) => name === "mail")) {
    const reason = ': only the mail preset reads it. Set it on the mapping, or add "mail" to hooks.presets';
    findings.push(...findUnused(key, mailbox, MAIL_DEFAULTS, reason));
  }
  if (!source) return findings;
  if (source.kind === "imap" && filter.dmarc && authservId === undefined) {
    const message = "can be forged if the server does not add its results: set authservId";
    findings.push(warning(`${key}.filter.dmarc`, message));
  }
  const isTaken = mappings.some(({ mapping: { match } }) => trimSlashes(match?.path ?? "mail") === "mail");
  const problem = enabled
    ? !isTaken && 'posts to a hook that no mapping answers: add "mail" to hooks.presets'
    : "posts nothing while hooks.enabled is not true";
  return problem ? [...findings, warning(`${key}.source`, problem)] : findings;
}

/** Each alert has a channel that is configured, and what its kind needs. */
function checkAlerts(config: ResolvedConfig): Finding[] {
  return config.alerts.flatMap(({ key, on, channel, hook, afterMs: after }) => [
    ...checkChannel(`${key}.channel`, channel, config),
    ...(!on.includes("no-event-for")
      ? findUnused(key, { hook, after }, ["hook", "after"], ': it is for "no-event-for"')
      : after === undefined
        ? [error(`${key}.after`, 'is needed for "no-event-for": after: "24h"')]
        : []),
  ]);
}
