/** A mail of this number, as it travels. Below 10. */
export function mailOf(number: number, text = `This is mail ${number}.`): string {
  return [
    `Message-ID: <${toId(number)}>`,
    `Date: Fri, 20 Nov 2026 12:00:0${number} +0000`,
    "From: Ann Lee <Ann@Example.com>",
    "To: bob@example.com",
    `Subject: =?utf-8?Q?Mail_${number}:_Gr=C3=BC=C3=9Fe?=`,
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
  ].join("\r\n");
}

/** Its Message-ID. */
export function toId(number: number): string {
  return `mail-${number}@example.com`;
}
