import type { PresetWrites } from "../../core/config/resolved-config.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { DriverError, messageOf } from "../../core/errors.ts";
import { isObject, objectSchema, parseJson, parsePath, readPath, toObjects, toText } from "../../core/shared/json.ts";
import { type Connection, openConnection, toUnknownOutcome } from "../../core/shared/net/connection.ts";
import { readText } from "../../core/shared/net/network.ts";
import { compileFields, type CompileTemplate } from "../../core/shared/template-values.ts";
import { blankToUndefined, cutText, toOneLine } from "../../core/shared/text/text.ts";
import { type CallResult, toError, type ToolCall, type ToolSet } from "../../core/ports/tool-set.ts";
import { toFailure, toResult, toUrl } from "./http.ts";
import { compilePath, type PathTemplate } from "./path.ts";

interface WritesOptions extends Pick<PresetWrites, "account" | "calls" | "failure"> {
  /** Its credential is used. */
  channel: ChannelDriver;
  compileTemplate: CompileTemplate;
}

type Write = PresetWrites["calls"][string];
type Args = Record<string, unknown>;

/** A value of an event that names a place. */
const PLACE = { type: ["string", "integer"], pattern: "^[\\w.][\\w./-]{0,250}$" };

/** The calls of a preset at the place of an event, with the credential of the channel's account. */
export function createWrites({ account, calls, failure, channel, compileTemplate }: WritesOptions): ToolSet {
  const connections = new Map<string, Connection>();
  const readFailure = failure === undefined ? undefined : compileTemplate(failure);
  const service: Service = {
    channel,
    compileTemplate,
    connect(baseUrl) {
      const connection = connections.get(baseUrl) ?? openConnection({ baseUrl, private: true, maxRedirects: 0 });
      connections.set(baseUrl, connection);
      return connection;
    },
    findFailure: (answer) => blankToUndefined(readFailure?.render({ answer })?.trim()),
  };
  return {
    name: account,
    calls: Object.entries(calls).map(([name, write]) => openWrite(name, write, service)),
    close: () => connections.forEach((connection) => connection.close()),
  };
}

interface Service extends Pick<WritesOptions, "channel" | "compileTemplate"> {
  connect(baseUrl: string): Connection;
  /** Why an answer with a status of success is a refusal. */
  findFailure(answer: unknown): string | undefined;
}

function openWrite(name: string, write: Write, service: Service): ToolCall {
  const { title, place, input = {} } = write;
  const own = Object.entries(input).map(([argument, { optional, ...schema }]) => ({ argument, optional, schema }));
  const required = own.filter(({ optional }) => optional !== true).map(({ argument }) => argument);
  return {
    name,
    description: title,
    place: Object.keys(place),
    ...(write.send !== undefined && { texts: ["text"] }),
    input: objectSchema([...Object.keys(place), ...required], {
      ...Object.fromEntries(Object.keys(place).map((argument) => [argument, PLACE])),
      ...Object.fromEntries(own.map(({ argument, schema }) => [argument, schema])),
    }),
    ...(write.send === undefined ? openRequest(write, service) : openMessage(write.send, service)),
  };
}

/** A message, as a reply: rendered, neutral, with the channel's mark. */
function openMessage(to: string, { channel, compileTemplate }: Service): Pick<ToolCall, "call"> {
  const recipient = compileTemplate(to);
  return {
    async call(args, { signal, callId, isRepeatable, sign }) {
      const { text, ...place } = args;
      const message = {
        to: recipient.render(place) ?? "",
        text: toText(text),
        format: "markdown",
        idempotencyKey: callId,
        sign,
        // An earlier attempt may have been accepted.
        mayBeSent: isRepeatable,
      } as const;
      try {
        channel.checkRecipient(message.to);
        const { messageId, warnings = [] } = await channel.send(message, signal);
        return { ...DONE, text: [DONE.text, ...warnings].join("\n"), sent: { to: message.to, messageId } };
      } catch (error) {
        signal.throwIfAborted();
        // Another attempt would be refused in the same way.
        if (error instanceof DriverError && !error.retryable) return toError(`Refused: ${error.message}`);
        throw error;
      }
    },
  };
}

/** The answer of the service is not shown: everything that changed is known. */
const DONE: CallResult = { text: "Done.", isError: false };

const METHODS = ["post", "put", "patch", "delete"] as const;

function openRequest(
  write: Write,
  { channel, connect, findFailure, compileTemplate }: Service,
): Pick<ToolCall, "address" | "call"> {
  const method = METHODS.find((known) => write[known] !== undefined) ?? "post";
  const written = write[method] ?? "/";
  const path = compilePath(written);
  const body = write.body && compileBody(write.body, compileTemplate);
  const finds = Object.entries(write.find ?? {}).map(([name, find]) => ({ name, ...openFind(find, compileTemplate) }));
  return {
    address: `${method.toUpperCase()} ${written}`,
    async call(args, context) {
      const access = await channel.openReads?.(toText(args[write.account ?? ""]), context.signal);
      if (!access) return toError("The channel has no API.");
      const connection = connect(access.baseUrl);
      const base = new URL(access.baseUrl);
      const send = (request: Request): Promise<Response> => {
        const { url, ...init } = toInit(request, base, access.headers);
        return connection.fetch(url, { ...init, signal: context.signal });
      };
      let values: Args = args;
      try {
        for (const { name, look } of finds) {
          const found = await look(values, { send, host: connection.host, findFailure });
          if ("refusal" in found) return found.refusal;
          values = { ...values, [name]: found.value };
        }
      } catch (error) {
        context.signal.throwIfAborted();
        return toError(`Not sent: what it needs could not be looked up: ${messageOf(error)}.`);
      }
      try {
        const request = { method, path: path.render(values), query: {}, body: body?.(values), callId: context.callId };
        return await toEnd(await send(request), connection.host);
      } catch (error) {
        return toFailure(error, connection.host, context.signal);
      }

      async function toEnd(response: Response, host: string): Promise<CallResult> {
        const text = await readText(response, MAX_ANSWER);
        // A gateway may have passed it on.
        if (response.status >= 500) throw toUnknownOutcome(host, new Error(`${response.status}`), context.signal);
        if (/^text\/html\b/i.test(response.headers.get("content-type") ?? "") && response.ok && text !== "")
          return toError(`${host} answered with a page: it is not the service, or the token has ended.`);
        const result = toResult(response.status, host, text);
        if (result.isError) return result;
        const failed = findFailure(parseJson(text));
        return failed === undefined ? DONE : toError(`${host} refused it: ${failed}`);
      }
    },
  };
}

/** Beside templates, `{ "$each": "labels", … }` is a list with one for each `item` of an argument. */
function compileBody(body: Args, compile: CompileTemplate): (args: Args) => Args {
  const fills = Object.entries(body).map(([name, value]): [string, (args: Args) => unknown] => {
    if (!isObject(value)) {
      const fill = compileFields({ value }, name, compile);
      return [name, (args) => fill(args)["value"]];
    }
    const { $each: each, ...fields } = value;
    const fill = compileBody(fields, compile);
    if (typeof each !== "string") return [name, fill];
    return [name, (args) => [args[each]].flat().map((item) => fill({ ...args, item }))];
  });
  return (args) =>
    Object.fromEntries(
      fills.map(([name, fill]) => [name, fill(args)] as const).filter(([, value]) => value !== undefined),
    );
}

const MAX_ANSWER = 8_000_000;

interface Request {
  method: string;
  path: string;
  query: Args;
  body: Args | undefined;
  callId?: string;
}

function toInit({ method, path, query, body, callId }: Request, base: URL, own: Record<string, string>) {
  return {
    url: toUrl(base.origin, base.pathname.replace(/\/+$/, "") + path, query),
    method: method.toUpperCase(),
    headers: {
      "user-agent": "hookline",
      ...(body && { "content-type": "application/json" }),
      ...own,
      ...(callId !== undefined && { "idempotency-key": callId }),
    },
    ...(body && { body: JSON.stringify(body) }),
  };
}

type Find = NonNullable<Write["find"]>[string];

interface FindContext extends Pick<Service, "findFailure"> {
  send(request: Request): Promise<Response>;
  host: string;
}

/** Finds the name or id by which the service knows something that the model has named. */
function openFind(
  { get, post = get ?? "/", query = {}, body, items, by, of, take }: Find,
  compile: CompileTemplate,
): { look(args: Args, context: FindContext): Promise<{ value: unknown } | { refusal: CallResult }> } {
  const method = get === undefined ? "post" : "get";
  const path: PathTemplate = compilePath(get ?? post);
  const fillQuery = compileFields(query, "query", compile);
  const fillBody = body && compileFields(body, "body", compile);
  const read = (value: unknown, at: string): unknown => (at === "" ? value : readPath(value, parsePath(at) ?? []));
  return {
    async look(args, { send, host, findFailure }) {
      const wanted = args[of];
      // An optional argument that is not given.
      if (wanted === undefined) return { value: undefined };
      const request = { method, path: path.render(args), query: fillQuery(args), body: fillBody?.(args) };
      const response = await send(request);
      const result = toResult(response.status, host, await readText(response, MAX_ANSWER));
      if (result.isError) return { refusal: result };
      const answer = parseJson(result.text);
      const failed = findFailure(answer);
      if (failed !== undefined) return { refusal: toError(`${host} refused to look up ${of}: ${failed}`) };
      const known = items.flatMap((at) => toObjects(read(answer, at)));
      const namesOf = (item: Args): string[] => by.flatMap((at) => toText(read(item, at)) || []);
      const found = [wanted].flat().map((name) => {
        const exact = known.find((item) => namesOf(item).includes(toText(name)));
        const folded = toText(name).toLowerCase();
        return exact ?? known.find((item) => namesOf(item).some((one) => one.toLowerCase() === folded));
      });
      const missing = [wanted].flat()[found.indexOf(undefined)];
      if (found.includes(undefined)) {
        const all = known.flatMap((item) => namesOf(item)[0] ?? []);
        return {
          refusal: toError(`Not sent: there is no ${of} "${toOneLine(toText(missing))}" here.${listNames(all)}`),
        };
      }
      const values = found.map((item) => read(item, take));
      return { value: Array.isArray(wanted) ? values : values[0] };
    },
  };
}

const MAX_NAMES = 1000;

function listNames(names: readonly string[]): string {
  return names.length === 0 ? "" : ` There are: ${cutText(names.map((name) => toOneLine(name)).join(", "), MAX_NAMES)}`;
}
