import { trimSlashes } from "../resolve.ts";
import type { ResolvedConfig } from "../types.ts";
import { type Finding, warning } from "./finding.ts";

const KEY = "hooks.mail.source";

/** What is watched is posted to a hook that takes it. The mailbox itself is checked by its driver. */
export function checkMail({ hooks }: ResolvedConfig): Finding[] {
  const { source, filter, authservId } = hooks.mail;
  const findings = checkPresetSettings(hooks);
  if (!source) return findings;
  if (source.kind === "imap" && filter.dmarc && authservId === undefined) {
    const message = "can be forged if the server adds no results of its own: set hooks.mail.authservId";
    findings.push(warning("hooks.mail.filter.dmarc", message));
  }
  if (source["push"] !== undefined && hooks.path === "/mail") {
    findings.push(warning(`${KEY}.push`, 'takes /mail/push: a hook with the name "push" cannot be reached'));
  }
  if (!hooks.enabled) return [...findings, warning(KEY, "posts nothing while hooks.enabled is not true")];
  const isTaken = hooks.mappings.some(({ mapping: { match } }) => trimSlashes(match?.path ?? "mail") === "mail");
  return isTaken
    ? findings
    : [...findings, warning(KEY, 'posts to a hook that no mapping answers: add "mail" to hooks.presets')];
}

const PRESET_SETTINGS = ["channel", "to", "model", "thinking", "instructions"] as const;

function checkPresetSettings({ mail, presets }: ResolvedConfig["hooks"]): Finding[] {
  if (presets.some(({ name }) => name === "mail")) return [];
  const message = 'has no effect: only the mail preset reads it. Set it on the mapping, or add "mail" to hooks.presets';
  return PRESET_SETTINGS.filter((setting) => mail[setting] !== undefined).map((setting) =>
    warning(`hooks.mail.${setting}`, message),
  );
}
