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
