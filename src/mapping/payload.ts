import { compileSchema, type SchemaCheck } from "../config/ajv.ts";
import type { AgentPayload, WakePayload } from "../config/generated.ts";
import { isObject } from "../config/is-object.ts";
import { readSchema } from "../config/schemas.ts";
import { HookError } from "../errors.ts";

const SCHEMAS = { wake: readSchema("wake"), agent: readSchema("agent") };
const CHECKS = { wake: compileSchema(SCHEMAS.wake), agent: compileSchema(SCHEMAS.agent) };

/** Throws a 400 `HookError` that names the field where this is no payload of `wake`. */
export function requireWake(payload: unknown): asserts payload is WakePayload {
  requireFit(CHECKS.wake, payload);
}

/** Throws a 400 `HookError` that names the field where this is no payload of `agent`. */
export function requireAgent(payload: unknown): asserts payload is AgentPayload {
  requireFit(CHECKS.agent, payload);
}

/** Throws a 400 `HookError` that names the field where the payload does not fit. */
export function requireFit(check: SchemaCheck, payload: unknown): void {
  const [problem] = check(payload);
  if (problem) throw new HookError(400, "invalid_payload", `Invalid payload: ${problem.message}.`);
}

/** A sentence for each field that the hook does not know. Its sender chose their names and number: both are bounded. */
export function findUnknownFields(hook: keyof typeof SCHEMAS, payload: object): string[] {
  const known = SCHEMAS[hook]["properties"];
  return Object.keys(payload)
    .filter((name) => isObject(known) && !Object.hasOwn(known, name))
    .slice(0, MAX_WARNINGS)
    .map(
      (name) => `The field ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))} is not known and was ignored.`,
    );
}

const MAX_WARNINGS = 20;
const MAX_NAME_LENGTH = 64;
