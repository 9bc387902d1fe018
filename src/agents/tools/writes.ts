import type { PresetWrites } from "../../core/config/resolved-config.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { DriverError, messageOf } from "../../core/errors.ts";
import { isObject, objectSchema, parseJson, parsePath, readPath, toObjects, toText } from "../../core/shared/json.ts";
import { type Connection, openConnection, toUnknownOutcome } from "../../core/shared/net/connection.ts";
import { readText } from "../../core/shared/net/network.ts";
import { compileFields, type CompileTemplate } from "../../core/shared/template-values.ts";
import { blankToUndefined, cutText, toOneLine } from "../../core/shared/text/text.ts";
import { type CallResult, toError, type ToolCall, type ToolSet } from "../../core/ports/tool-set.ts";
import { compileRequest, toFailure, toResult } from "./request.ts";

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

function openRequest(
  write: Write,
  { channel, connect, findFailure, compileTemplate }: Service,
): Pick<ToolCall, "address" | "call"> {
  const fillBody = write.body && compileBody(write.body, compileTemplate);
  const { method, path, send } = compileRequest({ ...write, fillBody }, "", compileTemplate);
  const finds = Object.entries(write.find ?? {}).map(([name, find]) => ({ name, ...openFind(find, compileTemplate) }));
  return {
    address: `${method} ${path}`,
    async call(args, { signal, callId }) {
      const access = await channel.authorize?.(toText(args[write.account ?? ""]), signal);
      if (!access) return toError("The channel has no API.");
      const server = { ...access, connection: connect(access.baseUrl) };
      const { host } = server.connection;
      let values: Args = args;
      try {
        for (const { name, look } of finds) {
          const found = await look(values, { server, signal, findFailure });
          if ("refusal" in found) return found.refusal;
          values = { ...values, [name]: found.value };
        }
      } catch (error) {
        signal.throwIfAborted();
        return toError(`Not sent: what it needs could not be looked up: ${messageOf(error)}.`);
      }
      try {
        return await toEnd(await send(server, values, { signal, callId }));
      } catch (error) {
        return toFailure(error, host, signal);
      }

      async function toEnd(response: Response): Promise<CallResult> {
        const text = await readText(response, MAX_ANSWER);
        // A gateway may have passed it on.
        if (response.status >= 500) throw toUnknownOutcome(host, new Error(`${response.status}`), signal);
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

type Find = NonNullable<Write["find"]>[string];

interface FindContext extends Pick<Service, "findFailure"> {
  server: Parameters<ReturnType<typeof compileRequest>["send"]>[0];
  signal: AbortSignal;
}

/** Finds the name or id by which the service knows something that the model has named. */
function openFind(
  { items, by, of, take, ...form }: Find,
  compile: CompileTemplate,
): { look(args: Args, context: FindContext): Promise<{ value: unknown } | { refusal: CallResult }> } {
  const fillBody = form.body && compileFields(form.body, "body", compile);
  const { send } = compileRequest({ ...form, fillBody }, "", compile);
  const read = (value: unknown, at: string): unknown => (at === "" ? value : readPath(value, parsePath(at) ?? []));
  return {
    async look(args, { server, signal, findFailure }) {
      const wanted = args[of];
      // An optional argument that is not given.
      if (wanted === undefined) return { value: undefined };
      const { host } = server.connection;
      const response = await send(server, args, { signal });
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
