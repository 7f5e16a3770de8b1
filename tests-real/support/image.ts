/**
 * Builds and runs the Dockerfile with buildah: as root, without a daemon, without a registry.
 *
 * The real base images cannot be pulled everywhere, so stand-ins are committed under their names: this machine's own deno
 * binary, the libraries it needs and a static busybox. What is proven is the Dockerfile, not the base.
 *
 * @module
 */
import { endBackground, guard, must, type Output, run, startBackground } from "./process.ts";

const BUILDAH = ["--storage-driver", "vfs"];
const NAME = "localhost/externaldatabase-operator";
const ROOT = new URL("../../", import.meta.url).pathname;
/** Tools that the build stage's RUN lines use. */
const APPLETS = ["sh", "cp", "chmod", "cat", "ls", "id", "touch", "env", "rm"];

/** A container that runs in the background. */
export interface RunningContainer extends AsyncDisposable {
  /** What it has written so far. */
  log(): Promise<string>;
}

/** An image that was built for a test. */
export class Image {
  readonly #store: string;
  readonly #name: string;

  private constructor(store: string, name: string) {
    this.#store = store;
    this.#name = name;
  }

  /** Builds the Dockerfile on stand-ins for its base images, by `deno task release --image`. */
  static async build(): Promise<Image> {
    const store = await Deno.makeTempDir({ prefix: "externaldatabase-image-" });
    await guard(store);
    // The image's user passes through it.
    await Deno.chmod(store, 0o755);
    const { version } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
    const image = new Image(store, `${NAME}:${version}`);
    try {
      for (const base of await baseImages()) await image.#commitStandIn(base);
      await image.#release();
    } catch (error) {
      await image.remove();
      throw error;
    }
    return image;
  }

  /** The image's configuration, as the OCI format has it. */
  // deno-lint-ignore no-explicit-any
  async config(): Promise<any> {
    return JSON.parse(await this.#buildah("inspect", "--type", "image", this.#name)).OCIv1.config;
  }

  /** Runs the image's entry point with these arguments, or another command. */
  async run(
    args: readonly string[],
    options: { readonly entrypoint?: readonly string[]; readonly readOnly?: boolean } = {},
  ): Promise<Output> {
    const { Entrypoint } = await this.config();
    const container = (await this.#buildah("from", "--pull-never", this.#name)).trim();
    try {
      if (options.readOnly === true) await this.#makeReadOnly(container);
      const command = [...(options.entrypoint ?? Entrypoint), ...args];
      return await run(
        "buildah",
        [...this.#flags(), "run", "--isolation", "chroot", "--network", "host", container, "--", ...command],
        { timeoutMs: 120_000 },
      );
    } finally {
      await this.#buildah("rm", container);
    }
  }

  /**
   * Starts a command in the background, as a kubelet would: with these variables, these files (readable by the
   * image's user), and `kubernetes.default.svc` at 127.0.0.1. Disposing of it ends it.
   */
  async start(
    words: readonly string[],
    env: Readonly<Record<string, string>>,
    files: Readonly<Record<string, string>>,
  ): Promise<RunningContainer> {
    const host = ["--add-host", "kubernetes.default.svc:127.0.0.1"];
    const container = (await this.#buildah("from", "--pull-never", ...host, this.#name)).trim();
    const mount = (await this.#buildah("mount", container)).trim();
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${mount}/${path}`.replace(/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${mount}/${path}`, text);
    }
    await must("chmod", ["-R", "a-w,a+rX", mount]);
    await this.#buildah("umount", container);
    const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
    const run = [
      "run",
      "--isolation",
      "chroot",
      "--network",
      "host",
      ...variables,
      container,
      "--",
      ...words,
    ];
    const dir = this.#store;
    await startBackground({ name: "pod", dir, command: "buildah", args: [...this.#flags(), ...run] });
    return {
      log: () => Deno.readTextFile(`${dir}/pod.log`),
      [Symbol.asyncDispose]: () => endBackground(dir, "pod", "SIGTERM"),
    };
  }

  /** Removes the image, its base and all their layers. */
  async remove(): Promise<void> {
    await run("buildah", [...this.#flags(), "rm", "--all"]);
    await Deno.remove(this.#store, { recursive: true });
  }

  /** The release's own steps, with a buildah that keeps its images here and asks no registry. */
  async #release(): Promise<void> {
    const bin = `${this.#store}/bin`;
    const here = ["--pull-never", "--isolation", "chroot", "--network", "host", "--layers=false"].join(" ");
    const buildah = (await must("sh", ["-c", "command -v buildah"])).trim();
    const script = `#!/bin/sh
case "$1" in bud) shift; set -- bud ${here} "$@" ;; esac
exec ${buildah} ${this.#flags().join(" ")} "$@"
`;
    await Deno.mkdir(bin);
    await Deno.writeTextFile(`${bin}/buildah`, script, { mode: 0o755 });
    const env = { ...Deno.env.toObject(), PATH: `${bin}:${Deno.env.get("PATH") ?? ""}` };
    const args = ["task", "release", "--image", NAME];
    await must(Deno.execPath(), args, { cwd: ROOT, env, timeoutMs: 10 * 60_000 });
  }

  /** Takes every write permission in the container away, for there is no read-only mount under chroot isolation. */
  async #makeReadOnly(container: string): Promise<void> {
    const mount = (await this.#buildah("mount", container)).trim();
    await must("chmod", ["-R", "a-w", mount]);
    await this.#buildah("umount", container);
  }

  async #commitStandIn(name: string): Promise<void> {
    const root = await Deno.makeTempDir({ dir: this.#store, prefix: "base-" });
    for (const path of ["bin", "usr/bin", "etc", "tmp", "etc/ssl/certs"]) {
      await Deno.mkdir(`${root}/${path}`, { recursive: true });
    }
    const deno = await Deno.realPath(Deno.execPath());
    const libraries = [...(await must("ldd", [deno])).matchAll(/(?:=> )?(\/\S+) \(/g)].map((match) =>
      match[1]!
    );
    await must("cp", ["-L", "--parents", ...libraries, root]);
    for (const library of ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"]) {
      const beside = libraries.find((path) => path.includes("libc.so"))!.replace(/[^/]*$/, library);
      await must("cp", ["-L", "--parents", beside, root]);
    }
    await must("cp", [deno, `${root}/usr/bin/deno`]);
    await must("cp", ["-L", await findBusybox(), `${root}/bin/busybox`]);
    for (const applet of APPLETS) await Deno.symlink("busybox", `${root}/bin/${applet}`);
    await Deno.writeTextFile(
      `${root}/etc/passwd`,
      "root:x:0:0::/:/bin/sh\nnonroot:x:65532:65532::/tmp:/bin/sh\n",
    );
    await Deno.writeTextFile(`${root}/etc/nsswitch.conf`, "hosts: files dns\n");
    const lines = ["FROM scratch", "COPY . /", "ENV PATH=/usr/local/bin:/usr/bin:/bin"];
    const certificates = Deno.env.get("DENO_CERT") ?? Deno.env.get("NODE_EXTRA_CA_CERTS");
    if (certificates !== undefined) {
      await must("cp", ["-L", certificates, `${root}/etc/ssl/certs/extra.crt`]);
      lines.push("ENV DENO_CERT=/etc/ssl/certs/extra.crt");
    }
    await Deno.writeTextFile(`${this.#store}/Dockerfile`, lines.join("\n"));
    await this.#buildah("bud", "--isolation", "chroot", "-t", name, "-f", `${this.#store}/Dockerfile`, root);
    await Deno.remove(root, { recursive: true });
  }

  #flags(): string[] {
    return [...BUILDAH, "--root", `${this.#store}/root`, "--runroot", `${this.#store}/run`];
  }

  #buildah(...args: string[]): Promise<string> {
    return must("buildah", [...this.#flags(), ...args], { timeoutMs: 10 * 60_000 });
  }
}

/** Names in the Dockerfile's FROM lines, complete. */
async function baseImages(): Promise<string[]> {
  const text = await Deno.readTextFile(`${ROOT}Dockerfile`);
  const version = /^ARG DENO_VERSION=(\S+)$/m.exec(text)?.[1];
  const names = [...text.matchAll(/^FROM (\S+)/gm)].map((match) =>
    match[1]!.replace("${DENO_VERSION}", version ?? "")
  );
  return [...new Set(names)].map((name) => `docker.io/${name}`);
}

async function findBusybox(): Promise<string> {
  for (const path of ["/bin/busybox", "/usr/bin/busybox"]) {
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  throw new Error("Building the stand-in base image failed: install busybox-static");
}
