import { isObject } from "../../config/is-object.ts";

/** Far more than a token and what comes with it. */
const MOST_BYTES = 64 * 1024;

/** A token endpoint's answer, bounded, and without the identity token: nobody asked for it, and its issuer is not known. */
export async function readAnswer(response: Response): Promise<Response> {
  const text = await readText(response);
  const { status, headers } = response;
  return new Response(withoutIdentity(text), { status, headers });
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MOST_BYTES) throw new Error(`The answer is longer than ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function withoutIdentity(text: string): string {
  try {
    const answer: unknown = JSON.parse(text);
    return JSON.stringify(isObject(answer) ? { ...answer, id_token: undefined } : answer);
  } catch {
    // What is no JSON is reported by whoever reads it.
    return text;
  }
}
