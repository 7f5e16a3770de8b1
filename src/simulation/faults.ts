/**
 * The names of the faults that are counted by state: the rows of the coverage table.
 *
 * @module
 */

/** Every fault, with what it is. */
export const FAULTS = {
  // The operator's processes.
  "dies before": "the process dies before a call about the CR is sent",
  "dies sent": "the process dies right after a call about the CR was sent",
  "dies answered": "the process dies when the answer of a call about the CR arrives",
  "killed": "the process is killed between two calls",
  "stopped": "the process ends as SIGTERM asks it to",
  "lost its lease": "the process begins anew, for another may lead",
  "freeze": "the process stands still and goes on later",
  "skew": "the wall clock jumps",
  // Answers of the cloud to calls about the CR, by class.
  "cloud absent": "the cloud says that the database is not there",
  "cloud throttled": "the cloud asks to wait",
  "cloud busy": "the database's state does not allow the call",
  "cloud exists": "a create meets an earlier one",
  "cloud unauthorised": "the credentials are refused",
  "cloud retryable": "the call had no effect",
  "cloud unknown": "nobody knows whether the call has an effect",
  "cloud rejected": "the request itself is refused",
  // The cloud as a whole.
  "cloud outage": "a spell in which calls are refused",
  "cloud lost": "a spell in which answers are lost",
  "cloud stall": "a spell in which calls are not answered",
  "list of all fails": "a page of the list of all databases fails",
  "switchAccount": "the credentials lead to another account",
  // The CR's database.
  "late effect": "a call takes effect after its caller has given up",
  "hidden by read lag": "a lookup does not show the database, for it is new",
  "provisioning fails": "the new database ends in Failed",
  "grows by itself": "the storage grows by itself",
  "upgrades itself": "the minor version rises by itself",
  "console grow": "a person makes it larger",
  "console shrink": "a person makes it smaller",
  "console version": "a person changes its version",
  "console full": "its storage is full",
  "console fail": "it breaks: Failed though it was available",
  "console protect": "a person sets or takes away its deletion protection",
  "vanish": "a person deletes it",
  "duplicate": "a person puts in a second one with its UID",
  "retag": "a person removes its UID tag",
  // Answers of the API server to calls about the CR, by kind.
  "kube notFound": "there is no such CR, or no CRD",
  "kube conflict": "it was modified meanwhile",
  "kube invalid": "the patch's test or the schema refuses it",
  "kube throttled": "too many requests",
  "kube unauthorised": "401",
  "kube forbidden": "403",
  "kube server": "500, with or without effect",
  "kube unavailable": "503, with or without effect",
  "kube network": "the connection breaks, with or without effect",
  "kube timeout": "no answer, with or without effect",
  // The cluster as a whole.
  "breakWatches": "all watches break",
  "silenceWatches": "all watches fall silent",
  "compact": "the history is forgotten: 410",
  "stale list": "a list shows the past",
  "cluster unavailable": "a spell in which the API server cannot be reached",
  "cluster unauthorised": "a spell of 401",
  "cluster forbidden": "a spell of 403",
  "deleteCrd": "the CRD is deleted",
  "restore": "the cluster goes back in time",
  // Users.
  "edit": "the spec is changed",
  "delete": "the CR is deleted",
  "annotate": "a reconcile is asked for, or an absence confirmed",
  "crossDelete": "the CR is deleted while the finalizer is on its way",
  "abandon": "the CR is abandoned",
  "label": "a label is changed",
  "stripFinalizers": "the operator's finalizer is taken away",
  "stripStatus": "the status is wiped",
  "editStatus": "a person edits the id or the incarnation in the status",
} as const;

/** One of them. */
export type FaultName = keyof typeof FAULTS;
