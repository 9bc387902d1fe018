import type { ChannelDriver } from "../../core/ports/channel.ts";
import type { PresetRead } from "../../core/config/resolved-config.ts";
import { messageOf } from "../../core/errors.ts";
import { readText } from "../../core/shared/net/network.ts";
import { numberLines } from "../../core/shared/text/diff.ts";
import { parseJson, readOwn, toObjects, toText } from "../../core/shared/json.ts";
import type { CompileTemplate } from "../../core/shared/template-values.ts";
import { type Connection, openConnection } from "../../core/shared/net/connection.ts";
import { compileRequest, toFailure, toResult } from "./request.ts";
import { type CallResult, toError, type ToolCall, type ToolSet } from "../../core/ports/tool-set.ts";

interface ReadsOptions {
  /** By name. */
  calls: Record<string, PresetRead>;
  /** Where they are read, and with whose credential. */
  authorize: NonNullable<ChannelDriver["authorize"]>;
  compileTemplate: CompileTemplate;
}

/** GET requests to fixed paths of one service, with the credential of its channel. */
export function createReads(name: string, { calls, ...options }: ReadsOptions): ToolSet {
  const connections = new Map<string, Connection>();
  const service = { ...options, connect };
  return {
    name,
    calls: Object.entries(calls).map(([call, read]) => openRead(call, read, service)),
    close: () => connections.forEach((connection) => connection.close()),
  };

  function connect(baseUrl: string): Connection {
    const connection = connections.get(baseUrl) ?? openConnection({ baseUrl, private: true });
    connections.set(baseUrl, connection);
    return connection;
  }
}

/** JSON and logs are read whole, because what is shown comes from any part of them. In characters. */
const MAX_WHOLE = 8_000_000;

/** How many items of `each` are read. */
const MAX_ITEMS = 3;

interface Service extends Omit<ReadsOptions, "calls"> {
  connect(baseUrl: string): Connection;
}

function openRead(name: string, read: PresetRead, service: Service): ToolCall {
  const { get: path, query } = read;
  const { send } = compileRequest({ get: path, query }, "", service.compileTemplate);
  const list = read.each && compileRequest({ get: read.each.get, query }, "", service.compileTemplate).send;
  const template = read.template === undefined ? undefined : service.compileTemplate(read.template);
  const names = Object.keys(read.arguments);
  return {
    name,
    description: read.title,
    input: {
      type: "object",
      properties: Object.fromEntries(names.map((argument) => [argument, { type: ["string", "number"] }])),
      required: names,
      additionalProperties: false,
    },
    async call(args, { signal, maxLength }) {
      const access = await service.authorize(toText(args[read.account ?? ""]), signal);
      const limit = template || read.show === "failure" ? MAX_WHOLE : maxLength;
      try {
        if (read.each && list) return await readEach(await get(list, args), read.each, readItem);
        return toShown(await get(send, args));
      } catch (error) {
        return toFailure(error, new URL(access.baseUrl).host, signal);
      }

      async function readItem(id: unknown): Promise<CallResult> {
        return toShown(await get(send, { ...args, id }));
      }

      async function get(sendGet: typeof send, values: Record<string, unknown>): Promise<CallResult> {
        const connection = service.connect(access.baseUrl);
        const headers = new Headers(access.headers);
        if (read.accept !== undefined) headers.set("accept", read.accept);
        const server = { ...access, headers: Object.fromEntries(headers), connection };
        const response = await sendGet(server, values, { signal });
        const next = read.redirects ? findRedirect(response, access.baseUrl) : null;
        if (!next) return toResult(response.status, connection.host, await readText(response, limit));
        await response.body?.cancel();
        if (next.protocol !== new URL(access.baseUrl).protocol)
          return toError(`${connection.host} redirects to ${next.protocol}//${next.host}.`);
        // The address is signed, and needs no credential.
        const storage = service.connect(next.origin);
        const stored = await storage.fetch(next, { signal });
        return toResult(stored.status, storage.host, await readText(stored, limit));
      }
    },
  };

  function toShown(result: CallResult): CallResult {
    if (result.isError) return result;
    try {
      const text = template ? (template.render({ answer: parseJson(result.text) }) ?? "") : result.text;
      return { ...result, text: SHOWN[read.show ?? "all"](text) };
    } catch (error) {
      return toError(`The answer cannot be shown: ${messageOf(error)}.`);
    }
  }
}

const SHOWN = { all: (text: string) => text, diff: numberLines, failure: lastFailure };

function findRedirect({ status, headers }: Response, baseUrl: string): URL | null {
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  return location ? URL.parse(location, baseUrl) : null;
}

async function readEach(
  list: CallResult,
  { items, where }: NonNullable<PresetRead["each"]>,
  readItem: (id: unknown) => Promise<CallResult>,
): Promise<CallResult> {
  if (list.isError) return list;
  const isWanted = (item: Record<string, unknown>): boolean =>
    Object.entries(where).every(([field, values]) => values.some((value) => value === item[field]));
  const answer = parseJson(list.text);
  const all = toObjects(items === undefined ? answer : readOwn(answer, items));
  const wanted = all.filter(isWanted).slice(0, MAX_ITEMS);
  const results = await Promise.all(wanted.map(({ id }) => readItem(id)));
  const failed = results.find(({ isError }) => isError);
  if (failed) return failed;
  const texts = results.map(({ text }, index) => `${toText(wanted[index]?.["name"])}:\n${text}`);
  return { text: texts.join("\n\n") || "(none)", isError: false };
}

/** How many lines of a log are shown before its last error. */
const LINES_OF_FAILURE = 200;

/** The part of a log that ends with its last error, without the times of its lines. Without an error, its end. */
function lastFailure(log: string): string {
  const lines = log.split("\n").map((line) => line.replace(/^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z /, "").trimEnd());
  const at = lines.findLastIndex((line) => /##\[error\]|^ERROR: /.test(line));
  const end = at === -1 ? lines.length : at + 1;
  return lines
    .slice(Math.max(0, end - LINES_OF_FAILURE), end)
    .join("\n")
    .trim();
}
