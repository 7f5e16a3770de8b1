/**
 * The certificates of a test cluster, made with `openssl`: a CA, the API server's, an admin's, the service-account key.
 *
 * @module
 */
import { must } from "./process.ts";

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
/** Names and addresses that the API server's certificate is good for. */
const SERVER_NAMES =
  "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc";

/** Writes ca, server and admin `.crt`/`.key` and the service accounts' `sa.key`/`sa.pub` to `dir`. */
export async function makeCertificates(dir: string): Promise<void> {
  const openssl = (...args: string[]) => must("openssl", args, { cwd: dir });
  const signed = async (name: string, subject: string, extension: string) => {
    await Deno.writeTextFile(`${dir}/${name}.ext`, `${extension}\n`);
    await openssl("req", ...NEW_KEY, "-subj", subject, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    await openssl(
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
      ...["-days", "30", "-out", `${name}.crt`, "-extfile", `${name}.ext`],
    );
  };
  await openssl(
    ...[
      "req",
      "-x509",
      ...NEW_KEY,
      "-days",
      "30",
      "-subj",
      "/CN=test-ca",
      "-keyout",
      "ca.key",
      "-out",
      "ca.crt",
    ],
    ...["-addext", "keyUsage=critical,keyCertSign"],
  );
  await signed("server", "/CN=kube-apiserver", SERVER_NAMES);
  await signed("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth");
  await openssl("genrsa", "-out", "sa.key", "2048");
  await openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub");
}
