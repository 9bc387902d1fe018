import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import type { JsonAnswer, JsonRequest } from "./json-server.ts";

type Operation = {
  parameters?: { name: string; in: string; schema: object }[];
  requestBody?: object;
  responses: Record<string, { content?: object }>;
};

/** Throws unless the vendor's own description of the API has the request and its successful answer. */
export type OpenApiCheck = (request: Pick<JsonRequest, "method" | "path" | "body">, answer: JsonAnswer) => void;

/** Compares a double with the extract `schemas/<name>.openapi.json`. `base`: what comes before its paths. */
export function loadOpenApi(name: string, base = ""): OpenApiCheck {
  const file = path.join(import.meta.dirname, `schemas/${name}.openapi.json`);
  const document = JSON.parse(readFileSync(file, "utf8")) as { paths: Record<string, Record<string, Operation>> };
  const ajv = new Ajv({ strict: false }).addSchema(document, "api");
  const queries = new Ajv({ coerceTypes: true });
  const templates = Object.entries(document.paths).map(([template, methods]) => ({
    template,
    methods,
    path: toPattern(template),
  }));

  return ({ method = "", path: target = "", body }, { status, body: said }) => {
    const url = new URL(target, "http://double.test");
    const place = url.pathname.slice(base.length);
    const found = templates.find(({ path: pattern }) => url.pathname.startsWith(base) && pattern.test(place));
    const operation = found?.methods[method.toLowerCase()];
    if (!found || !operation) throw new Error(`${name} describes no ${method} ${url.pathname}.`);
    const at = `paths/${escape(found.template)}/${method.toLowerCase()}`;
    for (const [query, value] of url.searchParams) {
      const schema = operation.parameters?.find(
        (parameter) => parameter.in === "query" && parameter.name === query,
      )?.schema;
      if (!schema || !queries.validate(schema, value))
        throw new Error(`${name} describes no ${query}=${value} of ${at}.`);
    }
    if (operation.requestBody) requireValid(`${at}/requestBody/${JSON_CONTENT}`, body);
    const answer = operation.responses[status];
    if (!answer) throw new Error(`${name} describes no answer ${status} of ${at}.`);
    if (answer.content) requireValid(`${at}/responses/${status}/${JSON_CONTENT}`, said);
  };

  function requireValid(pointer: string, value: unknown): void {
    const validate = ajv.getSchema(`api#/${pointer}`);
    if (!validate?.(value)) throw new Error(`${name}, ${pointer}: ${ajv.errorsText(validate?.errors)}`);
  }
}

const JSON_CONTENT = `content/${escape("application/json")}/schema`;

function escape(segment: string): string {
  return encodeURIComponent(segment.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function toPattern(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}
