import { isIPv4 } from "node:net";

/** Whether a host as a configuration names it can only be this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/** Puts the system's code for a host that cannot be reached into words; undefined for any other code. */
export function describeUnreachable(code: unknown, host: string, port: number | string): string | undefined {
  switch (code) {
    case "ENOTFOUND":
      return `the host ${host} does not exist`;
    case "EAI_AGAIN":
      return `the host ${host} cannot be looked up: no name server answers`;
    case "ECONNREFUSED":
      return `nothing listens at ${host}:${port}`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${host} cannot be reached: is this machine online?`;
    default:
      return undefined;
  }
}
