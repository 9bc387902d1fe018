import { createVerify, generateKeyPairSync } from "node:crypto";
import { type JsonAnswer, type JsonRequest, startJsonServer } from "./json-server.ts";

const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A service account, as its key file has it. */
export const CHAT_ACCOUNT = {
  email: "hookline@acme.iam.gserviceaccount.com",
  privateKey: String(keys.privateKey.export({ type: "pkcs8", format: "pem" })),
};

export interface GooglechatServer {
  /** For `channels.googlechat`. */
  block: typeof CHAT_ACCOUNT & { baseUrl: string; tokenUrl: string };
  /** A space that the app is in. */
  space: string;
  /** The messages posted to it, oldest first. */
  messages(): string[];
  /** The threads that they answer. */
  threads(): unknown[];
  close(): Promise<void>;
}

interface Message {
  name: string;
  text: string;
  requestId: string | null;
  thread: unknown;
}

const SPACE = "spaces/AAAAabcdEFG";
const TOKEN = "ya29.googlechat-test";

/**
 * A double of Google's sign-in for service accounts and of the Chat API, written from their references:
 * https://developers.google.com/identity/protocols/oauth2/service-account#httprest and
 * https://developers.google.com/workspace/chat/api/reference/rest. It was not compared with Google Chat.
 */
export async function startGooglechat(): Promise<GooglechatServer> {
  let messages: Message[] = [];
  const server = await startJsonServer((request) => answer(request));
  const tokenUrl = `${server.url}token`;
  return {
    block: { ...CHAT_ACCOUNT, baseUrl: server.url, tokenUrl },
    space: SPACE,
    messages: () => messages.map(({ text }) => text),
    threads: () => messages.map(({ thread }) => thread),
    close: () => server.close(),
  };

  function answer({ method, path = "", headers, body }: JsonRequest): JsonAnswer {
    if (path === "/token") return giveToken(body);
    if (headers.authorization !== `Bearer ${TOKEN}`) return googlechatError(401, "UNAUTHENTICATED");
    const { pathname, searchParams: query } = new URL(path, server.url);
    const name = pathname.slice("/v1/".length);
    if (method === "POST") {
      if (name !== `${SPACE}/messages`) return googlechatError(404, "NOT_FOUND");
      const { text } = body;
      if (typeof text !== "string" || text.length > 4096) return googlechatError(400, "INVALID_ARGUMENT");
      const requestId = query.get("requestId");
      const found = messages.find((message) => message.requestId === requestId);
      const sent = found ?? { name: `${name}/m${messages.length + 1}.x`, text, requestId, thread: body["thread"] };
      if (!found) messages.push(sent);
      return { status: 200, body: { name: sent.name, text: sent.text, space: { name: SPACE } } };
    }
    const found = messages.find((message) => message.name === name);
    if (!found) return googlechatError(404, "NOT_FOUND");
    if (method === "PATCH" && query.get("updateMask") === "text") found.text = String(body["text"]);
    else if (method === "DELETE") messages = messages.filter((message) => message !== found);
    else return googlechatError(400, "INVALID_ARGUMENT");
    return { status: 200, body: { name } };
  }

  function giveToken({ grant_type: grant, assertion }: Record<string, unknown>): JsonAnswer {
    const [head = "", claims = "", signature = ""] = String(assertion).split(".");
    const { iss, scope, aud } = JSON.parse(Buffer.from(claims, "base64url").toString() || "{}");
    const isSigned = createVerify("RSA-SHA256")
      .update(`${head}.${claims}`)
      .verify(keys.publicKey, Buffer.from(signature, "base64url"));
    const isRight =
      grant === "urn:ietf:params:oauth:grant-type:jwt-bearer" &&
      iss === CHAT_ACCOUNT.email &&
      scope === "https://www.googleapis.com/auth/chat.bot" &&
      aud === tokenUrl;
    if (!isSigned || !isRight) return { status: 400, body: { error: "invalid_grant", error_description: "No." } };
    return { status: 200, body: { access_token: TOKEN, expires_in: 3599, token_type: "Bearer" } };
  }
}

/** An error in the API's format. */
export function googlechatError(code: number, status: string): JsonAnswer {
  return { status: code, body: { error: { code, status, message: "It did not work." } } };
}
