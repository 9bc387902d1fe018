import { parseObject, toObject } from "../../core/shared/json.ts";
import type { TokenUsage } from "../../core/ports/agent.ts";

/** Reads along with the answer of a model, and tells what it used once it ends, also if it is cut off. */
export interface UsageReader {
  /** `isStream`: the answer consists of events, one a line. */
  read(chunk: Uint8Array, isStream: boolean): void;
  /** An estimate, while the answer is still coming. */
  soFar(): TokenUsage;
  finish(): TokenUsage;
}

/** A longer answer, or line of one, is counted by its length. */
const MAX_TEXT = 16 * 1024 * 1024;
const CHARACTERS_PER_TOKEN = 4;

/** `requestLength`: in characters, for answers that do not say what they used. */
export function readUsage(requestLength: number): UsageReader {
  const decoder = new TextDecoder();
  let rest = "";
  let length = 0;
  let found: TokenUsage = {};
  return {
    read(chunk, isStream) {
      const text = decoder.decode(chunk, { stream: true });
      length += text.length;
      if (rest.length + text.length > MAX_TEXT) rest = "";
      rest += text;
      if (!isStream) return;
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("data:")) take(line.slice("data:".length));
    },
    soFar,
    finish() {
      take(rest);
      return soFar();
    },
  };

  function soFar(): TokenUsage {
    const { inputTokens = estimate(requestLength), outputTokens = estimate(length) } = found;
    return { ...found, inputTokens, outputTokens };
  }

  function take(json: string): void {
    if (json.includes('"usage"') || json.includes('"input_tokens"'))
      found = { ...found, ...findUsage(parseObject(json)) };
  }
}

function estimate(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** Reads a whole answer or one event, in any of the formats. The input is the whole prompt, cached parts included. */
function findUsage(answer: Record<string, unknown>): TokenUsage {
  const { usage = toObject(answer["response"])["usage"] ?? toObject(answer["message"])["usage"] } = answer;
  const used = toObject(usage);
  const details = toObject(used["input_tokens_details"] ?? used["prompt_tokens_details"]);
  // Anthropic counts cached tokens apart from the input.
  const read = toCount(used["cache_read_input_tokens"]);
  const written = toCount(used["cache_creation_input_tokens"]);
  const input = toCount(used["input_tokens"] ?? used["prompt_tokens"] ?? answer["input_tokens"]);
  const cached = read ?? toCount(details["cached_tokens"]);
  return withoutMissing({
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
    outputTokens:
      toCount(used["output_tokens"] ?? used["completion_tokens"]) ??
      (answer["input_tokens"] === undefined ? undefined : 0),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
  });
}

function withoutMissing(usage: TokenUsage): TokenUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined));
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

const FIELDS = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens"] as const;

export function addUsage(sum: TokenUsage, usage: TokenUsage): TokenUsage {
  return Object.fromEntries(
    FIELDS.flatMap((field) =>
      sum[field] === undefined && usage[field] === undefined ? [] : [[field, (sum[field] ?? 0) + (usage[field] ?? 0)]],
    ),
  );
}

/** Undefined if nothing is left. */
export function subtractUsage(usage: TokenUsage, part: TokenUsage): TokenUsage | undefined {
  const left = addUsage(
    usage,
    Object.fromEntries(FIELDS.flatMap((field) => (part[field] === undefined ? [] : [[field, -part[field]]]))),
  );
  return Object.values(left).some((count) => count > 0) ? left : undefined;
}
