/** The URL of a new, empty database of the server that all tests share, or of the one that the environment names. */
export async function createPostgresUrl(): Promise<string> {
  const desk = process.env.HOOKLINE_TEST_POSTGRES;
  if (desk === undefined) throw new Error("there is no PostgreSQL: vitest's globalSetup has not run");
  const response = await fetch(new URL(process.env.HOOKLINE_TEST_POSTGRES_SERVER ?? "/", desk));
  const text = await response.text();
  if (!response.ok) throw new Error(`PostgreSQL did not start: ${text}`);
  return text;
}
