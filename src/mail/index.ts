export { createMailPush } from "./gmail/push.ts";
export { readPostedMail } from "./message/posted-mail.ts";
export { openMailStore } from "./store.ts";
export type { ProcessedMail } from "./watch/deliver.ts";
export { createMailPost } from "./watch/post.ts";
export { createMailService, type Mailbox } from "./watch/service.ts";
export type { FolderStatus, MailState } from "./watch/status.ts";
export { createMailWatch, type MailWatch } from "./watch/watch.ts";
