/**
 * The steps that make and try the image, for the tool that is there: buildah, podman or docker.
 *
 * @module
 */

/** A command line of a step. */
export type Step = readonly [command: string, ...args: string[]];

/** Tools that build an image, in the order in which they are looked for. */
export const BUILDERS = ["buildah", "podman", "docker"] as const;
/** One of {@linkcode BUILDERS}. */
export type Builder = typeof BUILDERS[number];

/** What an image is to be. */
export interface ImagePlan {
  /** Such as `registry.example/team/externaldatabase-operator`. */
  readonly name: string;
  readonly version: string;
  /** The commit that it is made from. */
  readonly revision: string;
}

/** Builds the image, and runs it to ask for its version; pushing is left to whoever releases. */
export function imageSteps(builder: Builder, plan: ImagePlan): readonly Step[] {
  const { name, version, revision } = plan;
  const image = `${name}:${version}`;
  const labels = Object.entries({
    "org.opencontainers.image.title": "externaldatabase-operator",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": revision,
    "org.opencontainers.image.licenses": "Apache-2.0",
  }).flatMap(([label, value]) => ["--label", `${label}=${value}`]);
  const build: Step = [builder, builder === "buildah" ? "bud" : "build", ...labels, "-t", image, "."];
  // buildah makes images and leaves running them to others.
  return builder === "buildah"
    ? [build]
    : [build, [builder, "run", "--rm", "--read-only", image, "--version"]];
}
