/** The URL of a new, empty database of the server that all tests share. */
export async function createPostgresUrl(): Promise<string> {
  const desk = process.env.HOOKLINE_TEST_POSTGRES;
  if (desk === undefined) throw new Error("there is no PostgreSQL: vitest's globalSetup has not run");
  const response = await fetch(desk);
  const text = await response.text();
  if (!response.ok) throw new Error(`PostgreSQL did not start: ${text}`);
  return text;
}
