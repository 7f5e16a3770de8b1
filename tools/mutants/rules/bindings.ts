/**
 * Planted bugs of connection Secrets (rule 25, behaviours K1 to K4).
 *
 * @module
 */
import { mutant, type RuleMutant } from "../rule.ts";

const decide = "statechart/decide_binding.ts";
const binding = "statechart/binding.ts";
const bind = "operator/effects/bind.ts";
const create = "operator/effects/create.ts";
const secret = "binding/secret.ts";

/** Rule 25, in the order of its sentences. */
export const BINDINGS: readonly RuleMutant[] = [
  mutant(
    "K1",
    "create before Secret",
    "a create goes out before its password is in a Secret",
    decide,
    "beforeCreate",
    "isSecretInOrder(k, view)",
    "true",
    {
      and: [{
        file: create,
        in: "create",
        find: "held !== undefined && held.password === undefined",
        replace: "false",
      }],
    },
  ),
  mutant(
    "K1",
    "late password",
    "a password is set while an earlier one may still take effect",
    decide,
    "passwordWaitMs",
    "since + (view.provider?.effectBoundMs ?? 0) - view.now",
    "0",
    {
      and: [{
        file: "operator/changes.ts",
        in: "Changes.turn",
        find: 'kind === "values" && this.#isWithin(this.#unsure, id)',
        replace: "false",
      }],
    },
  ),
  mutant(
    "K1",
    "password of another database",
    "what was set at the last database counts for the next",
    binding,
    "setRevision",
    "status?.binding?.id === id && !k.passwordUnsure",
    "!k.passwordUnsure",
  ),
  mutant(
    "K4",
    "password at once",
    "a password counts as set though the provider is still about it",
    bind,
    "setPassword",
    'answer.value.state === "Available" ? undefined : answer.answeredAt',
    "undefined",
  ),
  mutant(
    "K4",
    "ready without Secret",
    "a resource is called ready whatever its Secret lacks",
    decide,
    "boundReadiness",
    "lack === undefined",
    "true",
  ),
  mutant(
    "K2",
    "foreign Secret taken",
    "a Secret of another owner is written over",
    bind,
    "isOwn",
    "ownerUid(secret) === object.metadata.uid",
    "true",
  ),
  mutant(
    "K2",
    "damage unseen",
    "a password that was edited is taken for the one that was written",
    secret,
    "passwordOf",
    "metadata.annotations?.[SECRET_ANNOTATION.checksum] !== checksum(password)",
    "false",
  ),
  mutant(
    "K2",
    "Secret's end unheard",
    "the end of a Secret changes nothing of what is known",
    "statechart/learn_secret.ts",
    "learnSecret",
    'next.secret?.kind === "ours" && next.secret.uid === secretGone',
    "false",
  ),
  mutant(
    "K2",
    "old Secret left",
    "a Secret under an earlier name stays",
    bind,
    "bind",
    "stray !== undefined && stray !== name",
    "false",
  ),
  mutant(
    "K3",
    "endpoint stays",
    "a Secret keeps the endpoint that it was written with",
    binding,
    "isSecretInOrder",
    "secret.facts === factsText(wantedFacts(k, view))",
    "true",
  ),
  mutant(
    "A1",
    "adopted password changed",
    "the password of an adopted database is changed though nobody asks for a Secret",
    binding,
    "isSecretAsked",
    "isAdopted(object)",
    "false",
  ),
  mutant(
    "rule 25",
    "password told",
    "an error that holds the password is passed on as it is",
    "operator/without_password.ts",
    "withoutPassword",
    "!(error instanceof Error) || password === undefined || !error.message.includes(password)",
    "true",
  ),
];
