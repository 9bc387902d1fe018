/** The channel that stands for the place of the event, as its mapping's `source` names it. */
export const SOURCE_CHANNEL = "source";

/** The meaning of `last` while no channel has been used yet. */
export const FALLBACK_CHANNEL = "whatsapp";

/** Other names that people know a channel by. */
const CHANNEL_ALIASES = new Map<string, string>([
  ["imsg", "imessage"],
  ["teams", "msteams"],
]);

/** The usual name of a channel: `teams` → `msteams`, `teams:eu` → `msteams:eu`. */
export function toChannelName(name: string): string {
  const kind = channelKind(name);
  return (CHANNEL_ALIASES.get(kind) ?? kind) + name.slice(kind.length);
}

/** The driver of a channel: `slack:eu` is an account of `slack`. */
export function channelKind(name: string): string {
  return name.split(":", 1)[0] ?? name;
}

/** The name of an account of a channel, behind the colon. */
export const ACCOUNT_NAME = "[a-z0-9-]{1,24}";
