/**
 * How what is known of the connection Secret changes (K1 to K4): effects answer, and a watch tells.
 *
 * @module
 */
import { isOlderVersion } from "../api/resource_version.ts";
import type { SecretSeen } from "../binding/facts.ts";
import { secretName } from "./binding.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Learned } from "./learned.ts";

/** Knowledge that is being changed. */
export type Draft = { -readonly [K in keyof Knowledge]: Knowledge[K] };

/** Takes in what `facts` say of the Secret and of its password; `now` is the monotonic time in milliseconds. */
export function learnSecret(next: Draft, facts: Learned, now: number): void {
  const { secret, secretHeard, secretGone, secretsRemoved = [], passwordSet } = facts;
  if (secretsRemoved.length > 0) {
    next.secretsRemoved = [...new Set([...next.secretsRemoved ?? [], ...secretsRemoved])];
  }
  if (secret !== undefined) learnAnswer(next, secret, facts.secretAt);
  if (secretHeard !== undefined && isNews(next, secretHeard)) {
    next.secret = secretHeard.secret;
    next.secretHeardAt = now;
  }
  if (secretGone !== undefined) {
    next.secretGone = { uid: secretGone, at: now };
    if (next.secret?.kind === "ours" && next.secret.uid === secretGone) next.secret = { kind: "absent" };
  }
  if (passwordSet !== undefined) {
    next.passwordSet = passwordSet;
    next.passwordUnsure = undefined;
  }
}

/** An answer may come after the watch has told what became of the Secret since. */
function learnAnswer(next: Draft, secret: SecretSeen, sentAt: number | undefined): void {
  const { secret: known, secretHeardAt, secretGone } = next;
  if (sentAt !== undefined && secret.kind === "ours") {
    if (secretGone !== undefined && secretGone.uid === secret.uid && secretGone.at >= sentAt) {
      next.secret = { kind: "absent" };
      return;
    }
    const heard = known?.kind === "ours" && known.uid === secret.uid && secretHeardAt !== undefined &&
      secretHeardAt >= sentAt;
    if (heard && isOlderVersion(secret.resourceVersion, known.resourceVersion)) return;
  }
  next.secret = secret;
}

/** Whether the watch's word of a Secret is newer than what is known. */
function isNews(
  { secret: known, object }: Draft,
  { secret, rewound = false }: NonNullable<Learned["secretHeard"]>,
): boolean {
  if (secret.kind !== "ours" || known?.kind === "unasked") return false;
  if (known?.kind !== "ours") return secret.name === secretName(object);
  if (known.name !== secret.name) return false;
  return rewound || !isOlderVersion(secret.resourceVersion, known.resourceVersion);
}
