/** A failed keyword, as the validator reports it. */
export interface Violation {
  keyword: string;
  /** JSON pointer into the value. */
  instancePath: string;
  schemaPath: string;
  params: Record<string, unknown>;
  message?: string;
  /** The schema that the keyword stands in. */
  parentSchema?: Record<string, unknown>;
}

/**
 * Leaves out what only repeats another: of an `anyOf` or `oneOf`, either the violations of the one branch
 * that was meant, or a single one that names the types allowed. The violation that explains the rest stands
 * last.
 */
export function pickViolations(violations: Violation[]): Violation[] {
  return violations.filter(isChoice).reduce(settleChoice, violations).filter(isTelling);
}

function isChoice(violation: Violation): boolean {
  return violation.keyword === "anyOf" || violation.keyword === "oneOf";
}

/** `if` only points at the violation of its `then` or `else`, which is there too. */
function isTelling(violation: Violation): boolean {
  return violation.keyword !== "if";
}

function settleChoice(violations: Violation[], choice: Violation): Violation[] {
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
  return [...rest, meant.length === 0 ? toTypeViolation(choice, inside) : choice];
}

function isWithin(violation: Violation, choice: Violation): boolean {
  return `${violation.instancePath}/`.startsWith(`${choice.instancePath}/`);
}

function isWrongType(violation: Violation, choice: Violation): boolean {
  return violation.keyword === "type" && violation.instancePath === choice.instancePath;
}

function toTypeViolation(choice: Violation, inside: Violation[]): Violation {
  const types = inside
    .filter((violation) => isWrongType(violation, choice))
    .flatMap((violation) => violation.params["type"]);
  return types.length === 0 ? choice : { ...choice, keyword: "type", params: { type: [...new Set(types)] } };
}
