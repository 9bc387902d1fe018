import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { PRESETS_FOLDER } from "../../src/core/config/presets/file.ts";
import { isObject, type Segment } from "../../src/core/shared/json.ts";
import { usePreset } from "../support/preset.ts";

/** A sample of a preset whose texts a stranger may have written. */
export interface InjectedSample {
  preset: string;
  name: string;
  payload: unknown;
  headers: Record<string, string>;
  /** The keys of the texts that have an order, and reach the agent. */
  texts: string[];
}

/**
 * The samples of a preset that lead to an agent's turn, with the order in front of each text that reaches the agent: title,
 * body, branch, author, file name, header of a mail. What decides whether the preset takes the event stays as it is.
 */
export async function injectSamples(
  preset: string,
  toOrder: () => string,
  maxSamples: number,
): Promise<InjectedSample[]> {
  const send = await usePreset(preset);
  const reaches = async (payload: unknown, headers: Record<string, string>, order: string): Promise<boolean> => {
    const { actions } = await send(payload, headers).catch(() => ({ actions: [] }));
    return actions.some((action) => action.kind === "agent" && `${action.message}${action.name}`.includes(order));
  };
  const found: InjectedSample[] = [];
  for (const file of listSamples(preset)) {
    if (found.length === maxSamples) break;
    const payload: unknown = JSON.parse(readFileSync(`${file}.json`, "utf8"));
    const headers = readHeaders(file);
    let injected = payload;
    const texts: string[] = [];
    for (const at of listTexts(payload)) {
      const order = toOrder();
      const changed = changeText(injected, at, (text) => `${order} ${text}`);
      if (!(await reaches(changed, headers, order))) continue;
      injected = changed;
      texts.push(at.join("."));
    }
    if (texts.length > 0) found.push({ preset, name: path.basename(file), payload: injected, headers, texts });
  }
  return found;
}

function listSamples(preset: string): string[] {
  return globSync(`${preset}/samples/*.json`, { cwd: PRESETS_FOLDER })
    .filter((file) => !/\.(?:expected|request)\.json$/.test(file))
    .toSorted()
    .map((file) => path.join(PRESETS_FOLDER, file.slice(0, -".json".length)));
}

function readHeaders(file: string): Record<string, string> {
  try {
    const { headers = {} }: { headers?: Record<string, string> } = JSON.parse(
      readFileSync(`${file}.request.json`, "utf8"),
    );
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  } catch {
    return {};
  }
}

type At = readonly Segment[];

/** Where a payload has texts that may be a person's. */
function listTexts(value: unknown, at: At = []): At[] {
  if (typeof value === "string") return /\p{L}/u.test(value) ? [at] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => listTexts(item, [...at, index]));
  return isObject(value) ? Object.entries(value).flatMap(([key, item]) => listTexts(item, [...at, key])) : [];
}

function changeText(value: unknown, at: At, change: (text: string) => string): unknown {
  const [segment, ...rest] = at;
  if (segment === undefined) return change(String(value));
  if (Array.isArray(value))
    return value.map((item, index) => (index === segment ? changeText(item, rest, change) : item));
  return isObject(value) ? { ...value, [segment]: changeText(value[segment], rest, change) } : value;
}
