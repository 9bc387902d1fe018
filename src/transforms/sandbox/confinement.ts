import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Commands of Linux that start another one with less; each is used where it works without more rights than we have. */
const STEPS = [
  // No network: a namespace of its own, in which there is none.
  ["unshare", "--user", "--map-current-user", "--net", "--"],
  // The child ends with its supervisor, also where both are too busy to tell each other.
  ["setpriv", "--pdeathsig", "KILL", "--"],
];

let found: Promise<string[]> | undefined;

/** The words to put before a command so that it runs confined; none where the system offers nothing. Found once a process. */
export function findConfinement(): Promise<string[]> {
  found ??= Promise.all(STEPS.map(tryStep)).then((steps) => steps.flat());
  return found;
}

async function tryStep(step: string[]): Promise<string[]> {
  const [command, ...rest] = [...step, "true"];
  try {
    // With no PATH of ours, as the child will be started.
    await run(command, rest, { env: {} });
    return step;
  } catch {
    return [];
  }
}
