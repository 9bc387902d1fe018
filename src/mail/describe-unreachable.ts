/** Why nothing answers at `host:port`, in words for the system's code; undefined: the error must speak for itself. */
export function describeUnreachable(code: unknown, host: string, port: number | string): string | undefined {
  switch (code) {
    case "ENOTFOUND":
      return `there is no host ${host}`;
    case "EAI_AGAIN":
      return `the host ${host} cannot be looked up: no name server answers`;
    case "ECONNREFUSED":
      return `nothing listens at ${host}:${port}`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `there is no way to ${host}: is this machine online?`;
    default:
      return undefined;
  }
}
