import { toLine, toVisible } from "../parts/text.ts";
import { type Keys, toPath } from "../parts/tree.tsx";
import type { Suggestion } from "./editor.ts";
import type { TrialRequest } from "./trial.tsx";

export function listSuggestions(
  payload: unknown,
  { headers, query }: Pick<TrialRequest, "headers" | "query">,
): Suggestion[] {
  return [
    ...listPaths(payload),
    ...Object.entries(headers).map(([name, value]) => ({ label: `headers.${name}`, detail: toLine(value, 60) })),
    ...Object.entries(query).map(([name, value]) => ({ label: `query.${name}`, detail: toLine(value, 60) })),
  ];
}

/** `payload.items.[0].a-b` → `payload.items[0]["a-b"]` */
export function toScriptName({ label, detail }: Suggestion): Suggestion {
  const script = label
    .replaceAll(/\.\[(\d+)\]/g, "[$1]")
    .replaceAll(/\.\[([^\]]+)\]/g, (_all, key: string) => `[${JSON.stringify(key)}]`)
    .replaceAll(/\.([\w$]*-[\w$-]*)/g, (_all, key: string) => `[${JSON.stringify(key)}]`);
  return { label: script, detail };
}

const MAX_PATHS = 2000;

function listPaths(payload: unknown): Suggestion[] {
  const found: Suggestion[] = [];
  const queue: { value: unknown; keys: Keys }[] = [{ value: payload, keys: ["payload"] }];
  for (const { value, keys } of queue) {
    if (found.length >= MAX_PATHS) break;
    found.push({ label: toPath(keys), detail: describe(value) });
    if (typeof value !== "object" || value === null || keys.length > 8) continue;
    const isList = Array.isArray(value);
    for (const [key, child] of Object.entries(value).slice(0, isList ? 2 : 200)) {
      queue.push({ value: child, keys: [...keys, isList ? Number(key) : key] });
    }
  }
  return found;
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === "object" && value !== null) return "{…}";
  return toVisible(String(value).slice(0, 60));
}

const named = (detail: string, labels: string): Suggestion[] => labels.split(" ").map((label) => ({ label, detail }));

export const HELPERS = [
  ...named("helper", "json default truncate before join brief lower upper date eq and or not lookup"),
  ...named("block", "#if #unless #each #with else /if /unless /each /with"),
  ...named("request", "headers query path method now item index"),
];

export const AUTHOR_NAMES = [
  ...named("input", "payload rawBody headers query path method now base secrets item index"),
  ...named(
    "action field",
    "kind message text name sessionKey wakeMode mode deliver channel to model thinking timeoutSeconds",
  ),
  ...named("base", "base.message base.text base.name base.sessionKey base.deliver base.channel base.to base.kind"),
  ...named("keyword", "export default const return null undefined console.log"),
];
