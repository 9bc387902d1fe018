import { toObject, toObjects } from "../../core/shared/json.ts";
import { PAGE_ADDRESS, requireId } from "../kit/http.ts";
import { findMarked } from "../kit/comments/comment.ts";
import type { Ask } from "./client.ts";

/** Discussions are only in GitHub's GraphQL API: https://docs.github.com/en/graphql/guides/using-the-graphql-api-for-discussions */
export interface DiscussionRecipient {
  owner: string;
  repo: string;
  number: number;
  /** The comment that begins the thread, as GitHub's events number it. */
  thread?: number;
}

/** Adds a comment, or a reply in a thread. Resolves to its address. */
export async function addToDiscussion(recipient: DiscussionRecipient, body: string, ask: Ask): Promise<string> {
  const { id, thread } = await loadDiscussion(recipient, ask);
  const { addDiscussionComment } = await ask(ADD, { input: { discussionId: id, body, replyToId: thread } });
  return requireId(toObject(toObject(addDiscussionComment)["comment"])["url"], "GitHub", PAGE_ADDRESS);
}

/** Replaces the text of a comment, or deletes the comment if there is no other. Resolves to false if it is gone. */
export async function changeInDiscussion(
  recipient: DiscussionRecipient,
  { url, body }: { url: string; body?: string },
  ask: Ask,
): Promise<boolean> {
  const { comments } = await loadDiscussion(recipient, ask);
  const id = comments.find((each) => each["url"] === url)?.["id"];
  if (id) await (body === undefined ? ask(REMOVE, { input: { id } }) : ask(EDIT, { input: { commentId: id, body } }));
  return id !== undefined;
}

/** Resolves to the address of the comment that ends with the mark. */
export async function findInDiscussion(
  recipient: DiscussionRecipient,
  mark: string,
  ask: Ask,
): Promise<string | undefined> {
  const comment = findMarked((await loadDiscussion(recipient, ask)).comments, mark);
  return comment && requireId(comment["url"], "GitHub", PAGE_ADDRESS);
}

/** Shows eyes on the thread's comment or on the discussion. Resolves to what takes them away, with its own `Ask`. */
export async function addEyesReaction(recipient: DiscussionRecipient, ask: Ask): Promise<(ask: Ask) => Promise<void>> {
  const { id, thread = id } = await loadDiscussion(recipient, ask);
  const input = { subjectId: thread, content: "EYES" };
  await ask(REACT, { input });
  return async (askAgain) => void (await askAgain(UNREACT, { input }));
}

interface Discussion {
  id: string;
  /** The id of the thread's first comment. Absent: none is named, or it is too old. */
  thread?: string;
  /** The newest comments and replies. */
  comments: Record<string, unknown>[];
}

async function loadDiscussion({ thread, ...variables }: DiscussionRecipient, ask: Ask): Promise<Discussion> {
  const { repository } = await ask(LOAD, variables);
  const discussion = toObject(toObject(repository)["discussion"]);
  const first = toNodes(discussion["comments"]);
  const parent = first.find(({ databaseId }) => thread !== undefined && databaseId === thread);
  return {
    id: requireId(discussion["id"], "GitHub"),
    thread: parent && requireId(parent["id"], "GitHub"),
    comments: [...first, ...first.flatMap(({ replies }) => toNodes(replies))],
  };
}

function toNodes(connection: unknown): Record<string, unknown>[] {
  return toObjects(toObject(connection)["nodes"]);
}

const LOAD = `
  query ($owner: String!, $repo: String!, $number: Int!) {
    repository(owner: $owner, name: $repo) {
      discussion(number: $number) {
        id
        comments(last: 100) { nodes { ...comment replies(last: 50) { nodes { ...comment } } } }
      }
    }
  }
  fragment comment on DiscussionComment { id databaseId url body }`;
const ADD = "mutation ($input: AddDiscussionCommentInput!) { addDiscussionComment(input: $input) { comment { url } } }";
const EDIT =
  "mutation ($input: UpdateDiscussionCommentInput!) { updateDiscussionComment(input: $input) { comment { url } } }";
const REMOVE =
  "mutation ($input: DeleteDiscussionCommentInput!) { deleteDiscussionComment(input: $input) { clientMutationId } }";
const REACT = "mutation ($input: AddReactionInput!) { addReaction(input: $input) { subject { id } } }";
const UNREACT = "mutation ($input: RemoveReactionInput!) { removeReaction(input: $input) { subject { id } } }";
