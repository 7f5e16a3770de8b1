import { assert, assertEquals } from "@std/assert";
import { makeCertificates } from "../support/certificates.ts";
import { must } from "../support/process.ts";
import { CALL, newServer, OPERATOR, providerOn, requestFor, sql } from "./support.ts";

Deno.test("TLS: the server's certificate and name are verified in every mode but disable; nothing goes in the clear instead", async () => {
  const server = await newServer(16);
  const dir = await Deno.makeTempDir();
  try {
    await makeCertificates(dir);
    const [row] = await sql<{ data_directory: string }>(server, "SHOW data_directory");
    const data = row!.data_directory;
    for (const file of ["server.crt", "server.key"]) {
      await Deno.copyFile(`${dir}/${file}`, `${data}/${file}`);
    }
    await must("sh", ["-c", 'chmod 600 "$0"/server.* && chown --reference="$0" "$0"/server.*', data]);
    await sql(server, "ALTER SYSTEM SET ssl_cert_file = 'server.crt'");
    await sql(server, "ALTER SYSTEM SET ssl_key_file = 'server.key'");
    await sql(server, "ALTER SYSTEM SET ssl = on");
    // The operator's role may come by TLS alone.
    const hba = await Deno.readTextFile(`${data}/pg_hba.conf`);
    await Deno.writeTextFile(
      `${data}/pg_hba.conf`,
      `hostnossl all "${OPERATOR.user}" all reject\n${hba}`,
    );
    await server.halt();
    await server.start();

    const url = server.urlOf(OPERATOR);
    const trusting = providerOn(`${url}?sslmode=verify-full&sslrootcert=${dir}/ca.crt`);
    const made = await trusting.create(requestFor(server), CALL);
    const used = await sql<{ ssl: boolean }>(
      server,
      `SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '${OPERATOR.user}'`,
    );
    assertEquals(used, [{ ssl: true }]);
    await trusting.delete(made.id, CALL);
    await trusting.close();

    for (const mode of ["require", "verify-ca", "verify-full"]) {
      const wary = providerOn(`${url}?sslmode=${mode}`);
      const error = await wary.info(CALL).catch((e) => e);
      assertEquals(error.errorClass, "retryable", `${mode}: ${error}`);
      assert(/certificate/i.test(error.message), error.message);
      await wary.close();
    }

    // A certificate of the same authority for another name.
    await Deno.writeTextFile(`${dir}/other.ext`, "subjectAltName=DNS:elsewhere.example\n");
    const signing = [
      "x509",
      "-req",
      "-in",
      "server.csr",
      "-CA",
      "ca.crt",
      "-CAkey",
      "ca.key",
      "-CAcreateserial",
    ];
    await must(
      "openssl",
      [...signing, "-days", "30", "-out", `${data}/server.crt`, "-extfile", "other.ext"],
      {
        cwd: dir,
      },
    );
    await server.halt();
    await server.start();
    const misled = providerOn(`${url}?sslmode=verify-full&sslrootcert=${dir}/ca.crt`);
    const misnamed = await misled.info(CALL).catch((e) => e);
    assertEquals(misnamed.errorClass, "retryable", String(misnamed));
    assert(/certificate|altnames/i.test(misnamed.message), misnamed.message);
    await misled.close();

    const plain = providerOn(url);
    assertEquals(await plain.info(CALL).catch((e) => e.errorClass), "unauthorised");
    await plain.close();
  } finally {
    await Deno.remove(dir, { recursive: true });
    await server.stop();
  }
});
