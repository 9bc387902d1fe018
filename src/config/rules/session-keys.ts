import { MAIN_SESSION } from "../../types.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";
import { staticText } from "./static-text.ts";

/** Session keys that are known ahead of any request obey `hooks.allowedSessionKeyPrefixes`. */
export function checkSessionKeys({ hooks }: ResolvedConfig): Finding[] {
  const prefixes = hooks.allowedSessionKeyPrefixes;
  const checkPrefix = (key: string, sessionKey: string | undefined): Finding[] =>
    sessionKey === undefined || startsWithOne(sessionKey, prefixes)
      ? []
      : [error(key, `must start with one of hooks.allowedSessionKeyPrefixes: ${prefixes.join(", ")}`)];

  return [
    ...checkMain(hooks.defaultSessionKey),
    ...checkPrefix("hooks.defaultSessionKey", hooks.defaultSessionKey),
    ...hooks.mappings.flatMap(({ mapping, key, file }) =>
      [
        ...checkPrefix(`${key}.sessionKey`, staticText(mapping.sessionKey)),
        ...checkTemplate(`${key}.sessionKey`, mapping.sessionKey, hooks.allowRequestSessionKey),
      ].map((finding) => ({ ...finding, file })),
    ),
  ];
}

function checkTemplate(key: string, template: string | undefined, allowed: boolean): Finding[] {
  if (allowed || template === undefined || staticText(template) !== undefined) return [];
  const message =
    "is a template, so the request chooses the key: hooks.allowRequestSessionKey refuses what it gives";
  return [warning(key, message)];
}

function startsWithOne(sessionKey: string, prefixes: string[]): boolean {
  return prefixes.length === 0 || prefixes.some((prefix) => sessionKey.startsWith(prefix));
}

function checkMain(defaultSessionKey: string | undefined): Finding[] {
  return defaultSessionKey?.trim() === MAIN_SESSION
    ? [error("hooks.defaultSessionKey", `must not be "${MAIN_SESSION}": hooks run in sessions of their own`)]
    : [];
}
