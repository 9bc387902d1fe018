export { createMailPush } from "./gmail/push.ts";
export { readPostedMail } from "./message/posted-mail.ts";
export { openMailStore } from "./store/open.ts";
export type { ProcessedMail } from "./watch/deliver.ts";
export { createMailPost } from "./watch/post.ts";
export { createMailService } from "./watch/service.ts";
export type { FolderStatus, MailState } from "./watch/status.ts";
export { createMailWatch } from "./watch/watch.ts";
