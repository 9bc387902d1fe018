import { packageVersion } from "../../core/shared/system/package.ts";
import { readSchema } from "../../core/config/schema/validator.ts";
import { HTTP_ERRORS } from "../../core/errors.ts";
import type { ApiRoute, Parameter } from "./route.ts";

export interface OpenApiOptions {
  /** By method and path. */
  routes: Record<string, ApiRouteText>;
  /** `hooks.path`. */
  hooksPath: string;
  /** The address of the service. */
  url: string;
}

/** The whole HTTP surface as an OpenAPI 3.1 document. */
export function toOpenApi({ routes, hooksPath, url }: OpenApiOptions): object {
  const { answers, definitions } = readApiSchemas();
  const operations = Object.entries(routes).map(([route, row]) => toOperation(route, row, answers[route]));
  return {
    openapi: "3.1.0",
    info: {
      title: "Hookline",
      version: packageVersion(),
      description: "An inbound webhook service: hooks for senders, and an API for operators.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url }],
    security: [{ gatewayToken: [] }, { signIn: [] }],
    paths: Object.fromEntries(
      [
        ...Map.groupBy(
          [...HOOKS.map((hook) => toHook(hook, hooksPath)), toRunLookup(hooksPath), ...OPEN, ...operations],
          ({ path }) => path,
        ),
      ].map(([path, all]) => [path, Object.fromEntries(all.map(({ method, operation }) => [method, operation]))]),
    ),
    components: {
      schemas: { ...definitions, Error: ERROR, WakePayload: toPart("wake"), AgentPayload: toPart("agent") },
      securitySchemes: {
        gatewayToken: { type: "http", scheme: "bearer", description: "gateway.auth.token" },
        signIn: {
          type: "apiKey",
          in: "cookie",
          name: "hl",
          description: "From POST /api/session. Over https its name is `__Host-hl`.",
        },
        hookToken: { type: "http", scheme: "bearer", description: "hooks.token, or one of hooks.tokens" },
        hookTokenHeader: { type: "apiKey", in: "header", name: "x-gateway-token" },
      },
    },
  };
}

interface Operation {
  path: string;
  method: string;
  operation: object;
}

/** Schemas of the answers by route, and what they refer to. */
function readApiSchemas(): { answers: Record<string, object>; definitions: Record<string, object> } {
  const { answers, definitions } = readSchema("api");
  return { answers: Object(answers), definitions: Object(definitions) };
}

const STRING = { type: "string" };

const ERROR = {
  type: "object",
  required: ["ok", "error", "code", "requestId"],
  properties: {
    ok: { const: false },
    error: { type: "string", description: "The mistake and its fix." },
    code: { enum: Object.keys(HTTP_ERRORS) },
    requestId: STRING,
  },
};

const FAILURE = { description: "An error.", content: toContent({ $ref: "#/components/schemas/Error" }) };

function toOperation(
  route: string,
  { about, query = {}, body, isBodyOptional = false, example, contentType }: ApiRouteText,
  answer?: object,
): Operation {
  const [method = "", pattern = ""] = route.split(" ");
  const path = pattern.replace(/:(\w+)\*?/g, "{$1}");
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const inPath = names.map((name) => ({ name, in: "path", required: true, schema: STRING }));
  const isOpen = route === "POST /api/session";
  return {
    path,
    method: method.toLowerCase(),
    operation: {
      operationId: toOperationId(method, path),
      tags: ["operator"],
      summary: about,
      ...(isOpen && { security: [] }),
      parameters: [...inPath, ...Object.entries(query).map(toParameter)],
      ...(body && { requestBody: { required: !isBodyOptional, content: toContent(body, example) } }),
      responses: {
        200: { description: about, content: { [contentType]: { schema: answer ?? {} } } },
        default: FAILURE,
      },
    },
  };
}

type ApiRouteText = Omit<ApiRoute, "handle">;

/** `GET /api/events/{id}` → getEventsById */
function toOperationId(method: string, path: string): string {
  const words = path
    .replace(/^\/(api\/)?/, "")
    .split(/[/.-]/)
    .map((word) =>
      word.replace(/^\{(\w)(.*)\}$/, (_, first: string, rest: string) => `By${first.toUpperCase()}${rest}`),
    );
  return method.toLowerCase() + words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
}

function toParameter([name, { about, schema }]: [string, Parameter<unknown>]): object {
  return { name, in: "query", description: about, schema };
}

function toContent(schema: object, example?: unknown): object {
  return { "application/json": { schema, ...(example !== undefined && { example }) } };
}

/** A payload's schema as a part of the document, whose dialect is the later one. */
function toPart(name: "wake" | "agent"): object {
  const { $schema: _schema, $id: _id, ...schema } = readSchema(name);
  return schema;
}

/* The API for senders. */

const RECEIPT = {
  type: "object",
  required: ["ok", "eventId"],
  properties: {
    ok: { const: true },
    eventId: STRING,
    runId: STRING,
    sessionKey: STRING,
    mode: { enum: ["now", "next-heartbeat"] },
    actions: { type: "array", items: { type: "object" } },
    runIds: { type: "array", items: STRING },
    warnings: { type: "array", items: STRING },
  },
};

/** Form: `toResult` of `run-results.ts`. An answer that was waited for also names the event and the session. */
const RESULT = {
  type: "object",
  required: ["ok", "runId", "status"],
  properties: {
    ok: { type: "boolean", description: "False if the run has failed." },
    runId: STRING,
    status: { enum: ["waiting", "running", "done", "failed"] },
    reply: STRING,
    code: { enum: ["turn_failed", "turn_timed_out", "canceled"], description: "Of a run that has failed." },
    error: { type: "string", description: "The code as a sentence. The operator sees what happened." },
    sessionKey: STRING,
    eventId: STRING,
    warnings: RECEIPT.properties.warnings,
  },
};

const ACCEPTED = { description: "Committed; the turn follows.", content: toContent(RECEIPT) };
const DONE = { description: "Committed.", content: toContent(RECEIPT) };

const HOOKS = [
  {
    name: "wake",
    id: "postWake",
    about: "Adds a system event to the main session.",
    payload: { $ref: "#/components/schemas/WakePayload" },
    example: { text: "The build is broken.", mode: "next-heartbeat" },
    responses: { 200: DONE },
  },
  {
    name: "agent",
    id: "postAgent",
    about: "Runs one agent turn, by default in a new session.",
    payload: { $ref: "#/components/schemas/AgentPayload" },
    example: { message: "Summarize the last deploy.", name: "Deploys", deliver: false },
    responses: {
      200: { description: "With `Prefer: wait=N`: the run's result.", content: toContent(RESULT) },
      202: ACCEPTED,
    },
  },
  {
    name: "{name}",
    id: "postHook",
    about: "A hook of a mapping or preset. Its body is whatever the sender sends; the name may contain slashes.",
    payload: {},
    example: { action: "opened" },
    responses: {
      200: {
        description: "Committed. With `Prefer: wait=N`: the run's result.",
        content: toContent({ anyOf: [RECEIPT, RESULT] }),
      },
      202: ACCEPTED,
      204: { description: "Skipped: no action." },
    },
  },
];

const HOOK_SECURITY = [{ hookToken: [] }, { hookTokenHeader: [] }];

function toHook(
  { name, id, about, payload, example, responses }: (typeof HOOKS)[number],
  hooksPath: string,
): Operation {
  const parameters = [
    ...(name === "{name}" ? [{ name: "name", in: "path", required: true, schema: STRING }] : []),
    { name: "Idempotency-Key", in: "header", description: "A repeat gets the first answer.", schema: STRING },
    {
      name: "Prefer",
      in: "header",
      description: "`wait=10`: waits for the run, 1 to 60 seconds. Without effect for senders that sign.",
      schema: STRING,
    },
  ];
  return {
    path: `${hooksPath}/${name}`,
    method: "post",
    operation: {
      operationId: id,
      tags: ["hooks"],
      summary: about,
      security: HOOK_SECURITY,
      parameters,
      requestBody: { required: true, content: toContent(payload, example) },
      responses: { ...responses, default: FAILURE },
    },
  };
}

function toRunLookup(hooksPath: string): Operation {
  return {
    path: `${hooksPath}/runs/{runId}`,
    method: "get",
    operation: {
      operationId: "getRun",
      tags: ["hooks"],
      summary: "What became of a run, for the credential that created it.",
      security: HOOK_SECURITY,
      parameters: [{ name: "runId", in: "path", required: true, schema: STRING }],
      responses: { 200: { description: "The run's result so far.", content: toContent(RESULT) }, default: FAILURE },
    },
  };
}

const OPEN: Operation[] = [
  toCheck("healthz", "Whether the process is up."),
  toCheck("readyz", "Whether the journal, the sandbox, the configuration and the mailboxes work.", {
    503: { description: "Not ready.", content: toContent({ type: "object" }) },
  }),
];

function toCheck(name: string, about: string, failures: object = {}): Operation {
  const isOk = { type: "object", required: ["ok"], properties: { ok: { const: true } } };
  const responses = { 200: { description: "Yes.", content: toContent(isOk) }, ...failures };
  return {
    path: `/${name}`,
    method: "get",
    operation: { operationId: `get${name}`, tags: ["health"], summary: about, security: [], responses },
  };
}
