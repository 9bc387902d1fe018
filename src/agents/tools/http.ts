import type { FromSchema } from "json-schema-to-ts";
import { compileOwnSchema } from "../../core/config/schema/tool-schema.ts";
import { messageOf } from "../../core/errors.ts";
import type { DriverContext, DriverDefinition, OptionProblem } from "../../core/ports/driver.ts";
import { appendSegment, HTTP_URL, isObject, objectSchema, TEXTS } from "../../core/shared/json.ts";
import { listFound } from "../../core/shared/found.ts";
import { readText } from "../../core/shared/net/network.ts";
import { withPeriod } from "../../core/shared/text/text.ts";
import {
  type Connection,
  findAddressProblem,
  openConnection,
  type ResolveHost,
} from "../../core/shared/net/connection.ts";
import { findHeaderProblem } from "./headers.ts";
import { compilePath } from "./path.ts";
import { compileRequest, METHODS, toFailure, toResult } from "./request.ts";
import type { ToolCall, ToolSet } from "../../core/ports/tool-set.ts";
import { compileFields, type CompileTemplate } from "../../core/shared/template-values.ts";

const PATH = {
  type: "string",
  pattern: "^/",
  description: "Path below baseUrl. {name} is an argument as one segment, {+name} one that may contain slashes.",
} as const;

const schema = {
  description: "Requests to one host.",
  ...objectSchema(["baseUrl", "calls"], {
    baseUrl: {
      ...HTTP_URL,
      description: "Begins every address. Redirects that leave its scheme, host or port are not followed.",
    },
    private: {
      type: "boolean",
      default: false,
      description:
        "The host may be this machine or in a private network. Link-local and metadata addresses are never called.",
    },
    headers: {
      ...TEXTS,
      description: "Headers of every call, such as its credential.",
    },
    calls: {
      type: "object",
      minProperties: 1,
      description: "Calls, by name.",
      propertyNames: {
        pattern: "^[A-Za-z][\\w.-]{0,63}$",
        description: "1 to 64 letters, digits, - . and _, beginning with a letter.",
      },
      additionalProperties: objectSchema(["description"], {
        description: {
          type: "string",
          pattern: "\\S",
          description: "A description for the person or model that chooses the call.",
        },
        get: PATH,
        post: PATH,
        put: PATH,
        patch: PATH,
        delete: PATH,
        input: {
          type: "object",
          description:
            'The arguments: the JSON Schema of each, or the name of its type: "string", "integer", "number", "boolean", "array" or "object". All are required unless they say optional: true.',
          additionalProperties: {
            anyOf: [
              { enum: ["string", "integer", "number", "boolean", "array", "object"] },
              { type: "object", additionalProperties: true },
            ],
          },
        },
        query: {
          type: "object",
          additionalProperties: true,
          description: "Query parameters, whose texts are templates over the arguments. A list repeats its parameter.",
        },
        body: {
          type: "object",
          additionalProperties: true,
          description:
            "The body as JSON, whose texts are templates over the arguments. A template that is the whole text keeps its type.",
        },
        maxResultLength: {
          type: "integer",
          minimum: 1,
          description: "How many characters of its result are used, if that differs from the set's.",
        },
      }),
    },
  }),
} as const;

type HttpOptions = FromSchema<typeof schema>;
type CallOptions = HttpOptions["calls"][string];

export const http: DriverDefinition<ToolSet, HttpOptions> = { schema, check, create: createHttp };

function check({ baseUrl, headers = {}, calls }: HttpOptions): OptionProblem[] {
  const { search = "", hash = "" } = URL.parse(baseUrl) ?? {};
  const message =
    findAddressProblem(baseUrl, "https://api.example.com/v1") ??
    (search + hash !== "" && "The URL must not contain ? or #. Write parameters into query.");
  return listFound<OptionProblem>(
    message && { key: "baseUrl", message },
    findHeaderProblem(headers),
    Object.entries(calls).flatMap(([name, call]) => checkCall(call, appendSegment("calls", name)) ?? []),
  );
}

function checkCall(call: CallOptions, key: string): OptionProblem | undefined {
  const methods = METHODS.filter((method) => call[method] !== undefined);
  const [method] = methods;
  if (method === undefined || methods.length > 1) {
    return { key, message: `A call needs exactly one of ${METHODS.join(", ")}, with its path.` };
  }
  if (method === "get" && call.body) return { key: `${key}.body`, message: "A body is not sent with get. Use query." };
  const { schema: input, problem } = toInputSchema(call.input);
  if (problem) return { key: `${key}.input`, message: problem };
  try {
    const { names } = compilePath(call[method]!);
    const wrong = names.find((name) => !input.required.includes(name));
    const message = `The placeholder {${wrong}} must be an argument in input that is not optional.`;
    return wrong === undefined ? undefined : { key: `${key}.${method}`, message };
  } catch (error) {
    return { key: `${key}.${method}`, message: messageOf(error) };
  }
}

export function createHttp(
  { baseUrl, private: isPrivate, headers = {}, calls }: HttpOptions,
  { name, compileTemplate }: Pick<DriverContext, "name" | "compileTemplate">,
  resolve?: ResolveHost,
): ToolSet {
  const connection = openConnection({ baseUrl, private: isPrivate, resolve });
  // By the name in lower case, so that a header of the operator's replaces the usual one.
  const lowered = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]);
  const server = { baseUrl, headers: Object.fromEntries(lowered), connection, compileTemplate };
  return {
    name,
    calls: Object.entries(calls).map(([call, options]) => openCall(call, options, server)),
    close: () => connection.close(),
  };
}

interface Server {
  baseUrl: string;
  headers: Record<string, string>;
  connection: Connection;
  compileTemplate: CompileTemplate;
}

function openCall(name: string, options: CallOptions, { compileTemplate, ...server }: Server): ToolCall {
  const key = appendSegment("calls", name);
  const fillBody = options.body && compileFields(options.body, `${key}.body`, compileTemplate);
  const { method, path, send } = compileRequest({ ...options, fillBody }, `${key}.`, compileTemplate);
  const { host } = server.connection;
  return {
    name,
    description: options.description,
    address: `${method} ${server.baseUrl.replace(/\/+$/, "")}${path}`,
    input: toInputSchema(options.input).schema,
    maxResultLength: options.maxResultLength,
    async call(args, { signal, callId, maxLength }) {
      try {
        const response = await send(server, args, { signal, callId });
        return toResult(response.status, host, await readText(response, maxLength));
      } catch (error) {
        return toFailure(error, host, signal);
      }
    },
  };
}

interface InputSchema extends Record<string, unknown> {
  type: "object";
  properties: Record<string, unknown>;
  required: string[];
  additionalProperties: false;
}

/** The JSON Schema of a call's arguments, from its short form. `problem`: what is wrong with it. */
function toInputSchema(input: Record<string, unknown> = {}): { schema: InputSchema; problem?: string } {
  const object: InputSchema = objectSchema([], {});
  for (const [name, written] of Object.entries(input)) {
    const { optional = false, ...own } = isObject(written) ? written : { type: written };
    if (typeof optional !== "boolean")
      return { schema: object, problem: `The value of ${name}.optional must be true or false.` };
    object.properties[name] = own;
    if (!optional) object.required.push(name);
  }
  try {
    compileOwnSchema(object);
    return { schema: object };
  } catch (error) {
    return { schema: object, problem: `The schema cannot be used: ${withPeriod(messageOf(error))}` };
  }
}
