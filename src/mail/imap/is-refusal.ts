/** Whether a server said no to a command, and the connection goes on. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && "responseStatus" in error && error.responseStatus !== undefined;
}
