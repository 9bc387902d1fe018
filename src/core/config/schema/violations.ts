import type { ErrorObject } from "ajv";

/** A failed keyword. */
export type Violation = ErrorObject<string, Record<string, unknown>>;

/**
 * Leaves out errors that only repeat others: of an `anyOf` or `oneOf` remain the errors of the branch that was meant, or a
 * single one that names the allowed types. The most specific error comes last.
 */
export function selectErrors(violations: Violation[]): Violation[] {
  return (
    violations
      .filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf")
      .reduce(collapseAnyOf, violations)
      // `if` only points at the error of its `then` or `else`, which is reported too.
      .filter(({ keyword }) => keyword !== "if")
      // `propertyNames` repeats the error of the name.
      .filter(({ keyword }) => keyword !== "propertyNames")
      // Each item that is not what `contains` asks for has a separate error.
      .filter(({ schemaPath }) => !schemaPath.includes("/contains/"))
  );
}

function collapseAnyOf(violations: Violation[], choice: Violation): Violation[] {
  const prefix = `${choice.schemaPath}/`;
  const inside = violations.filter(
    (violation) => violation.schemaPath.startsWith(prefix) && isWithin(violation, choice),
  );
  const branches = Object.values(
    Object.groupBy(inside, ({ schemaPath }) => schemaPath.slice(prefix.length).split("/", 1)[0] ?? ""),
  ).filter((branch) => branch !== undefined);
  const meant = branches.filter((branch) => !branch.some((violation) => isWrongType(violation, choice)));

  const dropped = new Set(inside);
  const rest = violations.filter((violation) => !dropped.has(violation) && violation !== choice);
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return [...rest, ...only];
  return [...rest, meant.length === 0 ? toTypeViolation(choice, inside) : toRequiredViolation(choice, inside)];
}

function isWithin(violation: Violation, choice: Violation): boolean {
  return `${violation.instancePath}/`.startsWith(`${choice.instancePath}/`);
}

function isWrongType(violation: Violation, choice: Violation): boolean {
  return violation.keyword === "type" && violation.instancePath === choice.instancePath;
}

/** In place of a choice that fails only because none of some fields is there. */
export const ANY_REQUIRED = "anyRequired";

function toRequiredViolation(choice: Violation, inside: Violation[]): Violation {
  const isMissing = inside.every(
    ({ keyword, instancePath }) => keyword === "required" && instancePath === choice.instancePath,
  );
  if (!isMissing) return choice;
  return { ...choice, keyword: ANY_REQUIRED, params: { names: inside.map(({ params }) => params["missingProperty"]) } };
}

function toTypeViolation(choice: Violation, inside: Violation[]): Violation {
  const types = inside
    .filter((violation) => isWrongType(violation, choice))
    .flatMap((violation) => violation.params["type"]);
  return types.length === 0 ? choice : { ...choice, keyword: "type", params: { type: [...new Set(types)] } };
}
