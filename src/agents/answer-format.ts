import { isObject, parseJson, toObject, toObjects, toText, withoutUndefined } from "../core/shared/json.ts";

/** chat: OpenAI's chat completions · responses: OpenAI's responses · messages: Anthropic's. */
export type AnswerFormat = "chat" | "responses" | "messages";

type Json = Record<string, unknown>;

/** The field of an answer that has what the model said. */
export const LISTS = { chat: "choices", responses: "output", messages: "content" } as const;

/** An answer with the types of its specification. Missing values are added, and other forms are converted. */
export function toSpecified(body: Json, format: AnswerFormat): Json {
  const list = toObjects(body[LISTS[format]]);
  const own = withoutUndefined({ ...body, id: toId(body["id"]), model: toName(body["model"]), error: undefined });
  const usage = toUsage(body["usage"], format);
  switch (format) {
    case "chat":
      return { ...own, created: undefined, usage, choices: list.slice(0, 1).map(toChoice) };
    case "responses":
      return { ...own, created_at: undefined, usage, output: list.map(toOutput) };
    default:
      return {
        ...own,
        type: "message",
        usage: { input_tokens: 0, output_tokens: 0, ...usage },
        content: list.map(toPart),
      };
  }
}

function toId(id: unknown): string | undefined {
  return id === undefined || id === null ? undefined : toText(id);
}

function toName(name: unknown): string | undefined {
  return typeof name === "string" ? name : undefined;
}

function toUsage(usage: unknown, format: AnswerFormat): Json | undefined {
  const counts = pickCounts(toObject(usage));
  const isComplete = format !== "responses" || ("input_tokens" in counts && "output_tokens" in counts);
  return isObject(usage) && isComplete ? counts : undefined;
}

/** Without what is null, negative or a text. */
function pickCounts(usage: Json): Json {
  return Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]): [string, unknown][] => {
      if (isObject(value)) return [[name, pickCounts(value)]];
      return typeof value === "number" && value >= 0 ? [[name, value]] : [];
    }),
  );
}

function toChoice(choice: Json): Json {
  const message = toObject(choice["message"]);
  const { content, function_call: single, tool_calls: several } = message;
  const given = toObjects(several);
  const calls = given.length === 0 && isObject(single) ? [{ function: single }] : given;
  return {
    message: withoutUndefined({
      ...message,
      role: "assistant",
      content: Array.isArray(content) ? toObjects(content) : content === null ? null : toText(content),
      reasoning_content: toName(message["reasoning_content"]),
      reasoning: toName(message["reasoning"]),
      tool_calls: calls.length === 0 ? undefined : calls.map(toChatCall),
    }),
    finish_reason: toName(choice["finish_reason"]),
  };
}

/** Some servers put the name and the arguments beside the id. */
function toChatCall({ id, function: nested, extra_content, ...flat }: Json): Json {
  const { name, arguments: args } = isObject(nested) ? nested : flat;
  return withoutUndefined({
    id: toText(id),
    type: "function",
    function: { name: toCallName(name), arguments: toArguments(args) },
    extra_content: isObject(extra_content) ? extra_content : undefined,
  });
}

/** Without a token of the model's own format, which leaks from some servers: `show<|channel|>commentary`. */
function toCallName(name: unknown): string {
  return (
    toText(name)
      .replace(/<\|[^]*$/, "")
      .trim() || "unnamed"
  );
}

/** JSON, as text. Some servers send the object itself, some nothing, and some encode it twice. */
function toArguments(args: unknown): string {
  const text = toText(args).trim();
  if (text === "") return "{}";
  const parsed = parseJson(text);
  return typeof parsed === "string" && isObject(parseJson(parsed)) ? parsed : text;
}

function toOutput(item: Json, index: number): Json {
  const id = toText(item["id"]) || `item_${index}`;
  switch (item["type"]) {
    case "function_call":
      return {
        ...item,
        id,
        call_id: toText(item["call_id"]),
        name: toCallName(item["name"]),
        arguments: toArguments(item["arguments"]),
      };
    case "message": {
      const content = toObjects(item["content"]).map((part) => ({
        ...part,
        ...(part["type"] === "output_text" && {
          text: toText(part["text"]),
          annotations: toObjects(part["annotations"]),
        }),
      }));
      return { ...item, id, role: "assistant", content };
    }
    case "reasoning":
      return { ...item, id, summary: toObjects(item["summary"]) };
    default:
      return { ...item, id };
  }
}

function toPart(part: Json): Json {
  switch (part["type"]) {
    case "text":
      return { ...part, text: toText(part["text"]) };
    case "thinking":
      // Who sends none expects it back with an empty one.
      return { ...part, thinking: toText(part["thinking"]), signature: toText(part["signature"]) };
    case "tool_use": {
      const input = parseJson(toArguments(part["input"]));
      return { ...part, id: toText(part["id"]), name: toCallName(part["name"]), input: input ?? part["input"] };
    }
    default:
      return part;
  }
}
