/** What a new transform begins as, by file name: a module that does something useful, a payload, the action it gives. */
export function transformTemplate(name: string): Record<string, string> {
  return {
    [`${name}.ts`]: MODULE,
    [`${name}.samples/problem.json`]: toJson(PROBLEM),
    [`${name}.samples/problem.expected.json`]: toJson([toProblemAction(name)]),
    [`${name}.samples/all-well.json`]: toJson({ ...PROBLEM, status: "ok" }),
    [`${name}.samples/all-well.expected.json`]: toJson([]),
  };
}

/** The mapping that a configuration needs to use it. */
export function mappingTemplate(name: string): string {
  const instructions = "Find the likely cause and say what to do.";
  return `{ match: { path: "${name}" }, transform: { module: "${name}.ts" }, instructions: "${instructions}" }`;
}

const MODULE = `import type { Transform } from "hookline";

/** The part of the body that is read here. It comes from outside: what is missing must do no harm. */
interface Payload {
  service?: string;
  status?: string;
  detail?: string;
}

const transform: Transform<Payload> = ({ payload }) => {
  const { service = "A service", status = "unknown", detail = "No detail was given." } = payload;
  if (status === "ok") return null; // Nothing to do: the request is answered with 204.

  console.log("status", status); // Shown by \`webhooks try\` and with the event.
  return {
    message: \`\${service} reports \${status}. \${detail}\`,
    sessionKey: \`status:\${service}\`, // One conversation for each service.
  };
};
export default transform;
`;

const PROBLEM = { service: "billing", status: "degraded", detail: "Queue length 1840, usually below 50." };

function toProblemAction(name: string): object {
  const { service, status, detail } = PROBLEM;
  return {
    kind: "agent",
    message: `${service} reports ${status}. ${detail}`,
    name,
    sessionKey: `status:${service}`,
  };
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
