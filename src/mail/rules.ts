import { error, type Finding, warning } from "../config/finding.ts";
import { isLoopback } from "../config/is-loopback.ts";
import type { Mailbox } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/types.ts";

type Setting = Exclude<keyof Mailbox, "kind">;

const KEY = "hooks.mail.source";

/** What a kind of mailbox knows of the settings. */
const SETTINGS: Record<Mailbox["kind"], Setting[]> = {
  imap: ["host", "port", "tls", "user", "password", "oauth", "folders"],
  gmail: ["user", "oauth", "topic", "subscription", "push", "apiUrl", "pubsubUrl"],
};

/** What a kind cannot do without. */
const NEEDED: Record<Mailbox["kind"], Setting[]> = {
  imap: ["host", "user"],
  gmail: ["user", "oauth"],
};

/** The mailbox can be opened, no password travels in clear, and what is posted is taken. */
export function checkMail(config: ResolvedConfig): Finding[] {
  return [...checkMailbox(config), ...checkDefaults(config.hooks)];
}

function checkMailbox({ hooks, plugged }: ResolvedConfig): Finding[] {
  const { source } = hooks.mail;
  if (!source) return plugged.mailSource ? checkHook(hooks) : [];
  return [
    ...checkNeeded(source),
    ...checkUseless(source),
    ...checkUrls(source),
    ...(source.kind === "imap" ? checkImap(source, hooks.mail) : checkGmail(source, hooks)),
    ...checkHook(hooks),
  ];
}

function checkNeeded(source: Mailbox): Finding[] {
  return NEEDED[source.kind]
    .filter((setting) => source[setting] === undefined)
    .map((setting) => error(`${KEY}.${setting}`, `is required for kind "${source.kind}"`));
}

function checkUseless(source: Mailbox): Finding[] {
  const known = new Set<string>(["kind", ...SETTINGS[source.kind]]);
  return Object.keys(source)
    .filter((setting) => !known.has(setting))
    .map((setting) => warning(`${KEY}.${setting}`, `has no effect on a mailbox of kind "${source.kind}"`));
}

/** What is sent there opens the mailbox, and what comes from there is believed. */
function checkUrls({ apiUrl, pubsubUrl, oauth, push }: Mailbox): Finding[] {
  const urls = { apiUrl, pubsubUrl, "oauth.tokenUrl": oauth?.tokenUrl, "push.certsUrl": push?.certsUrl };
  return Object.entries(urls)
    .filter(([, url]) => url !== undefined && !isSecure(url))
    .map(([setting]) => error(`${KEY}.${setting}`, "must begin with https:// unless it is on this machine"));
}

function isSecure(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === "https:" || (hostname !== undefined && isLoopback(hostname));
}

function checkImap(source: Mailbox, { filter, authservId }: ResolvedConfig["hooks"]["mail"]): Finding[] {
  const findings = checkLogin(source);
  if (source.tls === "none" && source.host !== undefined && !isLoopback(source.host)) {
    findings.push(error(`${KEY}.tls`, '"none" would send the password in clear: it is for this machine only'));
  }
  if (filter.dmarc && authservId === undefined) {
    const message = "can be forged where the server adds no results of its own: set hooks.mail.authservId";
    findings.push(warning("hooks.mail.filter.dmarc", message));
  }
  return findings;
}

function checkLogin({ password, oauth }: Mailbox): Finding[] {
  if (password === undefined && oauth === undefined) {
    return [error(`${KEY}.password`, 'is required for kind "imap", or oauth in its place')];
  }
  if (password !== undefined && oauth !== undefined) {
    return [error(`${KEY}.oauth`, "stands beside a password: keep the one that opens the mailbox")];
  }
  return oauth && oauth.tokenUrl === undefined ? [error(`${KEY}.oauth.tokenUrl`, 'is required for kind "imap"')] : [];
}

function checkGmail({ user, topic, subscription, push }: Mailbox, { path }: ResolvedConfig["hooks"]): Finding[] {
  if (user?.includes("@") === false) return [error(`${KEY}.user`, "must be the mailbox's address")];
  if (subscription !== undefined && push !== undefined) {
    return [error(`${KEY}.push`, "stands beside a subscription that is pulled: keep one of them")];
  }
  const isNotified = subscription !== undefined || push !== undefined;
  if (isNotified && topic === undefined) {
    return [error(`${KEY}.topic`, "is required with subscription or push: Gmail notifies it")];
  }
  if (push !== undefined && path === "/mail") {
    return [warning(`${KEY}.push`, 'takes /mail/push: a hook of the name "push" cannot be reached')];
  }
  return !isNotified && topic !== undefined
    ? [warning(`${KEY}.topic`, "has no effect without subscription or push: Gmail is asked once a minute")]
    : [];
}

/** What only the preset reads. */
const DEFAULTS = ["channel", "to", "model", "thinking", "instructions"] as const;

function checkDefaults({ mail, presets }: ResolvedConfig["hooks"]): Finding[] {
  if (presets.some(({ name }) => name === "mail")) return [];
  const message = 'has no effect: only the mail preset reads it. Set it on the mapping, or add "mail" to hooks.presets';
  return DEFAULTS.filter((setting) => mail[setting] !== undefined).map((setting) =>
    warning(`hooks.mail.${setting}`, message),
  );
}

/** A hook of the operator's own may take the mails in place of the preset. */
function checkHook({ enabled, mappings }: ResolvedConfig["hooks"]): Finding[] {
  if (!enabled) return [warning(KEY, "posts nothing while hooks.enabled is not true")];
  const isTaken = mappings.some(
    ({ mapping: { match } }) => (match?.path ?? "mail").replace(/^\/+|\/+$/g, "") === "mail",
  );
  return isTaken ? [] : [warning(KEY, 'posts to a hook that no mapping answers: add "mail" to hooks.presets')];
}
