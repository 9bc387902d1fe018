import MailComposer from "nodemailer/lib/mail-composer";
import type { MailComposerOptions } from "nodemailer/lib/mail-composer";
import { type Expected, type MadeMail, type MailContext, type MailKind, pick, toMessageId } from "./kind.ts";
import { TEXTS } from "./texts.ts";

/** Mails as nodemailer writes them. */
export const composedKinds: MailKind[] = [
  { name: "plain", make: makePlain },
  { name: "newsletter", make: makeNewsletter },
  { name: "html-only", make: makeHtmlOnly },
  { name: "ci-notice", make: makeCiNotice },
  { name: "invoice", make: makeInvoice },
  { name: "reply", make: makeReply },
  { name: "list", make: makeList },
  { name: "invite", make: makeInvite },
  { name: "forward", make: makeForward },
];

function makePlain(context: MailContext): Promise<MadeMail> {
  const text = pick(context.random, TEXTS);
  return compose(context, text.subject, text.lines.join("\n"), {
    from: { name: text.name, address: "Writer@Example.net" },
    cc: ["Bob Example <bob@example.com>", "carol@example.com"],
    text: `${text.lines.join("\n")}\n\n${context.token}\n`,
  });
}

function makeNewsletter(context: MailContext): Promise<MadeMail> {
  const text = pick(context.random, TEXTS);
  return compose(context, `${text.subject} – November`, text.lines[0] ?? "", {
    from: "The Shop <news@shop.example>",
    text: `${text.lines.join("\n")}\n\nhttps://shop.example/news?id=${context.token}\n`,
    html: `<html><head><style>p { color: red }</style></head><body>${text.lines.map((line) => `<p>${line}</p>`).join("")}<img src="cid:logo@shop"></body></html>`,
    attachments: [{ content: PNG, cid: "logo@shop", filename: false, contentType: "image/png" }],
    headers: { "List-Unsubscribe": "<https://shop.example/leave>", Precedence: "bulk" },
  });
}

function makeHtmlOnly(context: MailContext): Promise<MadeMail> {
  const text = pick(context.random, TEXTS);
  return compose(context, text.subject, text.lines[1] ?? "", {
    from: `"${text.name}" <hello@app.example>`,
    html: [
      '<!DOCTYPE html><html><head><title>Not shown</title></head><body><div style="display:none">Preview &zwnj;&nbsp;&zwnj;</div>',
      `<table width="600"><tr><td>${text.lines.join("</td></tr><tr><td>")}</td></tr></table>`,
      `<a href="https://app.example/open/${context.token}">Open</a></body></html>`,
    ].join("\n"),
  });
}

function makeCiNotice(context: MailContext): Promise<MadeMail> {
  const run = context.random.below(100_000);
  return compose(context, `[acme/api] Run failed: CI - main (${run})`, `Run ${run} failed`, {
    from: '"acme/api" <notifications@forge.example>',
    to: '"acme/api" <api@noreply.forge.example>',
    cc: "Ci activity <ci_activity@noreply.forge.example>",
    text: `Run ${run} failed\n\nhttps://forge.example/acme/api/runs/${run}\n\n-- \nYou get this because you wrote ${context.token}.\n`,
    headers: { "List-ID": "acme/api <api.acme.forge.example>", "X-Forge-Reason": "ci_activity" },
  });
}

async function makeInvoice(context: MailContext): Promise<MadeMail> {
  const pdf = Buffer.concat([Buffer.from("%PDF-1.4\n"), Buffer.alloc(2000 + context.random.below(4000), 0x9c)]);
  return compose(context, "Rechnung 2026-118", "Im Anhang finden Sie die Rechnung.", {
    from: "Müller & Söhne GmbH <billing@example.net>",
    text: `Im Anhang finden Sie die Rechnung.\n\n${context.token}\n`,
    attachments: [
      { filename: "Rechnung März 2026.pdf", content: pdf, contentType: "application/pdf" },
      { filename: "Bedingungen.txt", content: "Zahlbar in 14 Tagen." },
    ],
  });
}

function makeReply(context: MailContext): Promise<MadeMail> {
  const text = pick(context.random, TEXTS);
  return compose(context, `Re: ${text.subject}`, "Yes, that is fine.", {
    from: "Ann Lee <ann@example.net>",
    inReplyTo: "<question@mails.example>",
    references: ["<first@mails.example>", "<question@mails.example>"],
    text: `On Thu, 19 Nov 2026 at 10:00, Me <me@example.com> wrote:\n> ${text.lines.join("\n> ")}\n\nYes, that is fine.\n\n${context.token}\n`,
  });
}

function makeList(context: MailContext): Promise<MadeMail> {
  return compose(context, "[announce] Version 4 is out", "Version 4 is out.", {
    from: "Maintainer via announce <announce@lists.example.org>",
    to: "announce@lists.example.org",
    text: `Version 4 is out.\n${"It brings this and that.\n".repeat(1 + context.random.below(40))}\n${context.token}\n`,
    headers: {
      "List-Id": "Announcements <announce.lists.example.org>",
      "List-Post": "<mailto:announce@lists.example.org>",
    },
  });
}

function makeInvite(context: MailContext): Promise<MadeMail> {
  const event = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "METHOD:REQUEST",
    "BEGIN:VEVENT",
    `UID:${context.token}`,
    "SUMMARY:Planning\\, second part",
    "DTSTART;TZID=Europe/Berlin:20261124T100000",
    "DTEND;TZID=Europe/Berlin:20261124T110000",
    "LOCATION:Room 4",
    'ORGANIZER;CN="Lee, Ann":mailto:ann@example.net',
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ].join("\r\n");
  return compose(context, "Invitation: Planning", "What: Planning, second part", {
    from: "Ann Lee <ann@example.net>",
    text: `You are invited.\n${context.token}\n`,
    icalEvent: { method: "REQUEST", content: event, filename: "invite.ics" },
  });
}

async function makeForward(context: MailContext): Promise<MadeMail> {
  const inner = await makePlain({ ...context, token: `${context.token}-inner` });
  return compose(context, "Fwd: as attached", "See the mail attached.", {
    from: "Bob Example <bob@example.com>",
    text: `See the mail attached.\n\n${context.token}\n`,
    attachments: [
      {
        filename: "the mail.eml",
        content: inner.source,
        contentType: "message/rfc822",
        contentDisposition: "attachment",
      },
    ],
  });
}

/** A mail with the token in its usual places. `text`: part of its body. */
async function compose(
  { token, date, random }: MailContext,
  subject: string,
  text: string,
  options: MailComposerOptions,
): Promise<MadeMail> {
  const whole: MailComposerOptions = {
    to: "Me <me@example.com>",
    messageId: toMessageId(token),
    date,
    subject: `${subject} [${token}]`,
    textEncoding: pick(random, ["B", "Q"]),
    // A random value would give another mail for the same seed.
    baseBoundary: token,
    ...options,
  };
  const attachments = options.attachments?.map(({ filename }) => filename).filter((name) => typeof name === "string");
  const expected: Expected = { subject: `${subject} [${token}]`, text, attachments: attachments ?? [] };
  return { source: await new MailComposer(whole).compile().build(), expected };
}

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
