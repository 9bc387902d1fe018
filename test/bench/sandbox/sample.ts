/** The measured transform, as an author writes it, and a 1 KB payload. */
export const TRANSFORM =
  "export default ({ payload }: any) => ({ message: `${payload.repository.full_name}: ${payload.title}`, name: payload.action })";

export const PAYLOAD = {
  action: "opened",
  repository: { full_name: "acme/shop", id: 7, topics: ["one", "two"] },
  title: "t".repeat(880),
};

/** The same without a sandbox: from text to text. */
export function transformPlainly(body: string): string {
  const payload: typeof PAYLOAD = JSON.parse(body);
  return JSON.stringify({
    message: `${payload.repository.full_name}: ${payload.title}`,
    name: payload.action,
  });
}
