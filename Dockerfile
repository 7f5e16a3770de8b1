# The operator's image: Deno, the operator's source and its dependencies as the lock names them; nothing is fetched at run time.
#   docker build -t externaldatabase-operator .
ARG DENO_VERSION=2.9.6

FROM denoland/deno:debian-${DENO_VERSION} AS build
ENV DENO_DIR=/deno-dir DENO_NO_UPDATE_CHECK=1
WORKDIR /app
COPY . .
# JSR's packages come from npm where JSR cannot be reached; whichever it is, the image runs with the map that it was built with.
RUN set -eu; \
    if [ -n "$(deno run --no-prompt --allow-net=jsr.io tools/std.ts)" ]; then cp npm.import_map.json import_map.json; \
    else deno eval 'console.log(JSON.stringify({ imports: JSON.parse(Deno.readTextFileSync("deno.json")).imports }))' > import_map.json; fi; \
    # The page; what bundles it is not needed later.
    deno run --no-check --no-prompt --allow-read --allow-write=dist --allow-run --allow-env tools/page.ts; \
    rm -rf /deno-dir/npm/*/@esbuild; \
    deno cache --import-map=import_map.json main.ts; \
    # One run fills the caches of compiled code, for there is no writing later.
    deno run --cached-only --no-prompt --import-map=import_map.json --allow-env --allow-read main.ts --help > /dev/null; \
    chmod -R a+rX /app /deno-dir

# No shell and no package manager in here.
FROM denoland/deno:distroless-${DENO_VERSION}
ENV DENO_DIR=/deno-dir DENO_NO_UPDATE_CHECK=1 NO_COLOR=1
WORKDIR /app
COPY --from=build /app /app
COPY --from=build /deno-dir /deno-dir
USER 65532:65532
EXPOSE 8080
# What the process may do is named here, and nothing else is allowed. Another cloud or database host is one more name in
# --allow-net: see ALLOWED_HOSTS in deploy/base/deployment.yaml. KUBERNETES_SERVICE_HOST is to be kubernetes.default.svc, as it is there.
# Any other environment variable reads as absent (--ignore-env), for some libraries look through all of them.
ENTRYPOINT ["deno", "run", "--cached-only", "--no-prompt", "--import-map=import_map.json", \
  "--allow-env=EDB_*,AWS_*,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,KUBECONFIG,POD_NAME,POD_NAMESPACE", "--ignore-env", \
  "--allow-read=/app/dist/page,/var/run/secrets/kubernetes.io/serviceaccount,/var/run/secrets/eks.amazonaws.com/serviceaccount,/var/run/secrets/pods.eks.amazonaws.com/serviceaccount,/etc/externaldatabase", \
  "--allow-net=kubernetes.default.svc:443,0.0.0.0:8080", \
  "main.ts"]
CMD ["--help"]
