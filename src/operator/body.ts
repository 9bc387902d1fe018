import { createCheck } from "../core/config/schema/validator.ts";
import { HookError } from "../core/errors.ts";

/** Throws a 400 unless the body fits its schema. */
export type RequireBody<Body> = (body: unknown) => asserts body is Body;

/** `name`: what the body is, for the message. */
export function createRequireBody<Body>(schema: object, name: string): RequireBody<Body> {
  const check = createCheck(() => schema, { subject: "the body" });
  return function requireBody(body): asserts body is Body {
    const [problem] = check(body);
    if (problem) throw new HookError("invalid_payload", { message: `Invalid ${name}: ${problem.message}.` });
  };
}
