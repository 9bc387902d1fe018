import { type MailKind, pick, toMessageId } from "./kind.ts";
import { encodeBody, encodeText, encodeWords } from "./encode.ts";
import { TEXTS } from "./texts.ts";

/** Mails in the charsets and encodings that real programs use. */
export const charsetKinds: MailKind[] = [
  {
    name: "charset",
    make({ token, random, date }) {
      const text = pick(random, TEXTS);
      const charset = pick(random, text.charsets);
      const encoding = pick(random, ["8bit", "base64", "quoted-printable"]);
      const words = pick(random, ["B", "Q"] as const);
      const body = encodeText(`${text.lines.join("\r\n")}\r\n\r\n${token}\r\n`, charset);
      const source = Buffer.concat([
        Buffer.from(
          [
            `Received: from mail.example.net (mail.example.net [192.0.2.7]) by mx.example.com; ${date.toUTCString()}`,
            `Message-ID: ${toMessageId(token)}`,
            `Date: ${date.toUTCString()}`,
            `From: ${encodeWords(text.name, charset, words)} <writer@example.net>`,
            "To: me@example.com",
            `Subject: ${encodeWords(text.subject, charset, words)}\r\n [${token}]`,
            "MIME-Version: 1.0",
            `Content-Type: text/plain; charset="${charset}"`,
            `Content-Transfer-Encoding: ${encoding}`,
            "\r\n",
          ].join("\r\n"),
        ),
        encodeBody(body, encoding),
      ]);
      return {
        source,
        expected: {
          subject: `${text.subject} [${token}]`,
          text: text.lines.join("\n"),
          from: `${text.name} <writer@example.net>`,
          sender: "writer@example.net",
        },
      };
    },
  },
];
