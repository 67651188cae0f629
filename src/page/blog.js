// The blog: the requests C1 to C4 and Q1 to Q6 of the article.

import { Problem, call, get, me, read } from "./api.js";
import { action, button, confirmed, count, form, h, pages, path, prose, say, time } from "./dom.js";

const userLink = ({ userId, userUsername }) => h("a", { href: `#/users/${path(userId)}` }, userUsername);

/// A short post: as the feed and the list of a user have it.
function shortPost(post) {
  const counts = [count(post.commentCount, "comment", "comments"), count(post.likeCount, "like", "likes")];
  return h("li", null, h("article", { class: "short" },
    h("h2", null, h("a", { href: `#/posts/${path(post.postId)}` }, post.title)),
    h("p", { class: "byline" }, userLink(post), " · ", time(post.creationDate)),
    h("p", null, post.content),
    h("p", { class: "counts" }, counts.join(" · "))));
}

/// A note for copies that a query has not waited for long enough.
const late = (answer, refresh) => answer.behind &&
  h("p", { class: "note" }, "Your last change is on its way here. ", button("Look again", refresh));

/// Q6: the newest posts.
export async function feed({ refresh, query }) {
  const limit = query.get("all") === "" ? 100 : 20;
  const answer = await get(`feed?limit=${limit}`);
  const { items } = answer.data;
  return {
    title: "Newest posts",
    nodes: [
      h("div", { class: "heading" }, h("h1", null, "Newest posts"), h("a", { class: "button", href: "#/write" }, "Write a post")),
      late(answer, refresh),
      items.length === 0 && h("p", { class: "empty" }, "There is no post yet. The first one is yours: write it."),
      h("ol", { class: "feed" }, items.map(shortPost)),
      items.length === limit && limit < 100 && h("p", { class: "more" }, h("a", { class: "button", href: "#/?all" }, "Show the 100 newest")),
    ],
  };
}

/// Q2, Q4 and Q5: a post with its comments and likes.
export async function post({ id, refresh }) {
  const at = `posts/${path(id)}`;
  const [answer, comments, likes] = await Promise.all([get(at), read(`${at}/comments`), read(`${at}/likes`)]);
  const post = answer.data;
  const user = me.get();
  const isOwn = user?.id === post.userId;
  const liked = user && (likes.items.some((one) => one.userId === user.id) || (likes.nextCursor && await hasLiked(at, user)));
  const remove = async () => {
    await call("DELETE", at, { headers: answer.etag ? { "if-match": answer.etag } : {} });
    say("The post is deleted");
    location.hash = "#/";
  };
  const names = likes.items.slice(0, 5).map(userLink);
  const others = post.likeCount - names.length;
  return {
    title: post.title,
    nodes: [
      h("article", { class: "post" },
        h("h1", null, post.title),
        h("p", { class: "byline" }, userLink(post), " · ", time(post.creationDate)),
        h("div", { class: "prose" }, prose(post.content)),
        h("div", { class: "bar" },
          like({ at, user, liked, refresh }),
          isOwn && h("a", { class: "button", href: `#/posts/${path(id)}/edit` }, "Edit"),
          isOwn && confirmed("Delete", "Delete this post, with its comments and likes?", remove)),
        h("p", { class: "counts", id: "likes" },
          count(post.likeCount, "like", "likes"),
          names.length > 0 && [": ", names.flatMap((name, n) => n ? [", ", name] : [name])],
          names.length > 0 && others > 0 && ` and ${count(others, "other", "others")}`)),
      h("section", { "aria-labelledby": "comments" },
        h("h2", { id: "comments" }, count(post.commentCount, "comment", "comments")),
        pages({
          first: comments,
          load: (cursor) => read(`${at}/comments?cursor=${encodeURIComponent(cursor)}`),
          row: (one) => comment({ at, one, user, refresh }),
          empty: "No comment yet.",
          className: "comments",
        }),
        commentForm({ at, user, refresh })),
    ],
  };
}

async function hasLiked(at, user) {
  try {
    await get(`${at}/likes/${path(user.id)}`);
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return false;
    throw error;
  }
}

function like({ at, user, liked, refresh }) {
  if (!user) return h("a", { class: "button", href: "#/sign-up" }, "Sign up to like it");
  return action(liked ? "Liked" : "Like", async () => {
    await call(liked ? "DELETE" : "PUT", `${at}/likes/${path(user.id)}`);
    say(liked ? "The like is taken back" : "You like this post");
    await refresh();
    document.querySelector(".bar button")?.focus();
  }, { "aria-pressed": String(Boolean(liked)) });
}

function comment({ at, one, user, refresh }) {
  const remove = async () => {
    await call("DELETE", `${at}/comments/${path(one.id)}`);
    say("The comment is deleted");
    await refresh();
  };
  return h("li", { class: "comment" },
    h("p", { class: "byline" }, userLink(one), " · ", time(one.creationDate)),
    h("div", null, prose(one.content)),
    user?.id === one.userId && confirmed("Delete", "Delete this comment?", remove));
}

function commentForm({ at, user, refresh }) {
  if (!user) return h("p", null, h("a", { href: "#/sign-up" }, "Sign up"), " to comment.");
  // The same key for each attempt: a comment whose answer was lost is not written twice.
  const key = crypto.randomUUID();
  return form({
    label: "Comment",
    fields: [{ name: "content", label: "Your comment", rows: 3, required: true }],
    submit: "Comment",
    note: `as ${user.username}`,
    work: async ({ content }) => {
      await call("POST", `${at}/comments`, { body: { userId: user.id, content }, headers: { "idempotency-key": key } });
      say("Your comment is there");
      await refresh();
    },
  });
}

function postForm({ label, submit, value = {}, save }) {
  return form({
    label,
    fields: [
      { name: "title", label: "Title", value: value.title, required: true },
      { name: "content", label: "Text", rows: 12, value: value.content, required: true },
    ],
    submit,
    work: async (values) => {
      const { data } = await save(values);
      say("Your post is saved");
      location.hash = `#/posts/${path(data.postId)}`;
    },
  });
}

/// C2: a new post.
export async function write() {
  const user = me.get();
  const heading = h("h1", null, "Write a post");
  if (!user) return { title: "Write a post", nodes: [heading, h("p", null, h("a", { href: "#/sign-up" }, "Sign up"), " first: a post has an author.")] };
  // A post whose answer was lost is not written twice.
  const id = crypto.randomUUID();
  const save = (values) => call("PUT", `posts/${id}`, { body: { userId: user.id, ...values } });
  return { title: "Write a post", nodes: [heading, postForm({ label: "Post", submit: "Publish", save })] };
}

/// C2: an edit, refused when the post has changed meanwhile.
export async function edit({ id }) {
  const { data: value, etag } = await get(`posts/${path(id)}`);
  const headers = etag ? { "if-match": etag } : {};
  const save = (values) => call("PUT", `posts/${path(id)}`, { body: { userId: value.userId, ...values }, headers });
  return { title: `Edit ${value.title}`, nodes: [h("h1", null, "Edit the post"), postForm({ label: "Post", submit: "Save", value, save })] };
}

/// Q1 and Q3: a user and the user's posts; C1 for oneself: another name.
export async function user({ id, refresh }) {
  const at = `users/${path(id)}`;
  const [{ data: user }, posts] = await Promise.all([get(at), get(`${at}/posts`)]);
  const isMe = me.get()?.id === id;
  if (isMe && me.get().username !== user.username) me.set(user);
  const rename = form({
    label: "Rename yourself",
    fields: [{ name: "username", label: "Another name", value: user.username, required: true, hint: "The change feed carries it to all your posts, comments and likes." }],
    submit: "Rename",
    work: async ({ username }) => {
      const { data } = await call("PUT", at, { body: { username } });
      me.set(data);
      say(`Your name is ${data.username}`);
      await refresh();
    },
  });
  return {
    title: user.username,
    nodes: [
      h("h1", null, user.username),
      h("p", { class: "byline" }, "here since ", time(user.creationDate)),
      isMe && h("details", { class: "card" }, h("summary", null, "This is you"), rename,
        action("Sign out of this page", async () => { me.set(null); await refresh(); })),
      late(posts, refresh),
      h("h2", { class: "unseen" }, "Posts"),
      pages({
        first: posts.data,
        load: (cursor) => read(`${at}/posts?cursor=${encodeURIComponent(cursor)}`),
        row: shortPost,
        empty: isMe ? "You have not written a post yet." : "No post yet.",
        className: "feed",
      }),
    ],
  };
}

/// C1: a new user, or one that there is.
export async function signUp() {
  const enter = (user) => {
    me.set(user);
    say(`You are ${user.username}`);
    if (history.length > 2) history.back();
    else location.hash = "#/";
  };
  return {
    title: "Sign up",
    nodes: [
      h("h1", null, "Sign up"),
      form({
        label: "Sign up",
        fields: [{ name: "username", label: "Your name", required: true, autocomplete: "username", hint: "1 to 64 characters, and of nobody else." }],
        submit: "Sign up",
        work: async ({ username }) => enter((await call("POST", "users", { body: { username } })).data),
      }),
      h("details", { class: "card" }, h("summary", null, "Or act as a user that there is"),
        form({
          label: "Act as a user",
          fields: [{ name: "userId", label: "Id of the user", required: true, hint: "In the demo data: ada, brook, chen, dara, elif, femi, greta or hugo." }],
          submit: "Act as this user",
          work: async ({ userId }) => {
            if (!userId.trim()) throw new Problem({ title: "An id is missing", detail: "Enter the id of a user." });
            enter(await read(`users/${path(userId.trim())}`));
          },
        }),
        h("p", { class: "hint" }, "Where users sign in, the app refuses to act for another one.")),
    ],
  };
}
