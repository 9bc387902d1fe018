import { trimSlashes } from "../resolve.ts";
import { MAIL_DEFAULTS, type MailSettings, type ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

/** What is watched is posted to a hook that takes it. A mailbox itself is checked by its driver. */
export function checkMail({ hooks }: ResolvedConfig): Finding[] {
  return hooks.mail.flatMap((mailbox, index) => {
    const isTaken = hooks.mail.slice(0, index).some(({ name }) => name === mailbox.name);
    const message = `"${mailbox.name}" is already the name of another mailbox: give each its own`;
    return [...(isTaken ? [error(`${mailbox.key}.name`, message)] : []), ...checkMailbox(mailbox, hooks)];
  });
}

function checkMailbox(mailbox: MailSettings, { enabled, mappings, presets }: ResolvedConfig["hooks"]): Finding[] {
  const { key, source, filter, authservId } = mailbox;
  const findings: Finding[] = [];
  if (!presets.some(({ name }) => name === "mail")) {
    const message =
      'has no effect: only the mail preset reads it. Set it on the mapping, or add "mail" to hooks.presets';
    const written = MAIL_DEFAULTS.filter((setting) => mailbox[setting] !== undefined);
    findings.push(...written.map((setting) => warning(`${key}.${setting}`, message)));
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
