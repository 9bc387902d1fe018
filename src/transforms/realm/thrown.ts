const MAX_MESSAGE_LENGTH = 2000;
const MAX_STACK_LENGTH = 10_000;

/** Message and stack of anything thrown. Never throws, whatever traps the value contains. */
export function describeThrown(thrown: unknown): { message: string; stack: string } {
  if (thrown === null || typeof thrown !== "object") {
    return { message: `Threw ${describeOther(thrown)}.`, stack: "" };
  }
  const name = readText(thrown, "name");
  const message = readText(thrown, "message");
  const stack = readText(thrown, "stack").slice(0, MAX_STACK_LENGTH);
  if (!name && !message) return { message: `Threw ${describeObject(thrown)}.`, stack };
  return { message: (message ? `${name || "Error"}: ${message}` : name).slice(0, MAX_MESSAGE_LENGTH), stack };
}

function describeOther(thrown: unknown): string {
  if (typeof thrown === "string") return `the string ${JSON.stringify(thrown.slice(0, MAX_MESSAGE_LENGTH))}`;
  if (typeof thrown === "function") return "a function";
  const kind = thrown === null || thrown === undefined ? "" : `the ${typeof thrown} `;
  return `${kind}${String(thrown)}`.slice(0, MAX_MESSAGE_LENGTH);
}

function describeObject(thrown: object): string {
  try {
    const json: unknown = JSON.stringify(thrown);
    if (typeof json === "string") return `the object ${json}`.slice(0, MAX_MESSAGE_LENGTH);
  } catch {
    // A cycle, a getter or a trap.
  }
  return "an object that JSON cannot represent";
}

/** The property if it is a readable string; a getter or a proxy may throw. */
function readText(value: object, key: string): string {
  try {
    const text: unknown = Reflect.get(value, key);
    return typeof text === "string" ? text : "";
  } catch {
    return "";
  }
}
