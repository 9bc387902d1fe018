import { error, type Finding, warning } from "../finding.ts";
import type { Provider } from "../generated.ts";
import { appendSegment } from "../key-path.ts";
import type { ResolvedConfig } from "../resolved.ts";

type Setting = Exclude<keyof Provider, "kind">;

const REMOTE: Setting[] = ["baseUrl", "apiKey", "headers"];

/** What a kind of provider knows of the settings. */
const SETTINGS: Record<Provider["kind"], Setting[]> = {
  "openai-compatible": REMOTE,
  openai: REMOTE,
  anthropic: REMOTE,
  gateway: [...REMOTE, "sessionHeader", "keepsHistory"],
  command: ["command", "cwd", "env"],
  acp: ["command", "cwd", "env"],
};

/** What a kind cannot do without, and why. */
const NEEDED: { [Kind in Provider["kind"]]?: [Setting, string] } = {
  "openai-compatible": ["baseUrl", 'is required: kind "openai-compatible" has no address of its own'],
  gateway: ["baseUrl", 'is required: kind "gateway" has no address of its own'],
  command: ["command", 'is required: kind "command" runs a program'],
  acp: ["command", 'is required: kind "acp" talks to a program'],
};

/** Every provider can be called, and is told nothing that it does not understand. */
export function checkProviders({ agents }: ResolvedConfig): Finding[] {
  return Object.entries(agents.providers).flatMap(([name, provider]) => {
    const key = appendSegment("agents.providers", name);
    return [...checkName(name, key), ...checkNeeded(provider, key), ...checkUseless(provider, key)];
  });
}

function checkName(name: string, key: string): Finding[] {
  return name.includes("/")
    ? [error(key, "must not hold a slash: a model's provider is what stands before its first one")]
    : [];
}

function checkNeeded(provider: Provider, key: string): Finding[] {
  const [setting, message] = NEEDED[provider.kind] ?? [];
  return setting && message && provider[setting] === undefined ? [error(`${key}.${setting}`, message)] : [];
}

function checkUseless(provider: Provider, key: string): Finding[] {
  const known = new Set<string>(["kind", ...SETTINGS[provider.kind]]);
  return Object.keys(provider)
    .filter((setting) => !known.has(setting))
    .map((setting) => warning(`${key}.${setting}`, `has no effect on a provider of kind "${provider.kind}"`));
}
