/** SQLite's primary result code, the low byte of the extended one; 0 for errors that are not SQLite's. */
export function resultCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}
