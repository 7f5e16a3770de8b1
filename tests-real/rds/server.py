"""An RDS for tests: moto's, with what moto leaves out.

- Time: creating, changing and deleting take as long as RDS_TIMING says (JSON, seconds by state). After a change is
  accepted an instance stays "available" for a moment with PendingModifiedValues, as the real one does.
- Validation: sizes, versions, tags, passwords, identifiers, states.
- A resource id of its own for each instance; no endpoint and no creation time before it is made.
- Versions by prefix (16 gives the newest 16), storage that grows by a tenth at least and is optimised afterwards.

Not known of the real one, and the strict way here: an instance cannot be deleted while it is made or changed, and not changed
while an immediate change has not begun.

Prints one line of JSON when it serves: the ports of the API and of an admin API, both on loopback, chosen by the system.

  GET  /instances                     what nobody can ask the real one: passwords too
  GET  /snapshots                     manual ones
  POST /set {identifier, ...}         sets attributes, as status, allocated_storage, engine_version, deletion_protection, address
  POST /vanish {identifier}           an instance is gone at once, as behind the operator's back
  POST /clear                         as it began
  POST /timing {create, modify, ...}  seconds
"""
import copy
import json
import os
import re
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import moto.rds.models as models
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.rds.exceptions import RDSClientError
from werkzeug.serving import make_server

TIMING = {"create": 0.3, "modify": 0.3, "begin": 0.08, "optimise": 0.1, "delete": 0.3}
TIMING.update(json.loads(os.environ.get("RDS_TIMING", "{}")))
LOCK = threading.RLock()
VERSIONS = {
    "postgres": ["14.12", "15.7", "16.3", "16.4", "17.2", "18.1"],
    "mysql": ["8.0.39", "8.4.3"],
    "mariadb": ["10.6.18", "10.11.8", "11.4.3"],
}
CHANGEABLE = {"available", "storage-optimization", "storage-full"}
DELETABLE = CHANGEABLE | {"failed", "stopped", "restore-error", "insufficient-capacity"}
PENDING = {
    "allocated_storage": "AllocatedStorage",
    "engine_version": "EngineVersion",
    "db_instance_class": "DBInstanceClass",
    "master_user_password": "MasterUserPassword",
}

Backend = models.RDSBackend
Backend.SNAPSHOT_QUOTA = 1_000_000
moto_create = Backend.create_db_instance
moto_describe = Backend.describe_db_instances
moto_modify = Backend.modify_db_instance
moto_delete = Backend.delete_db_instance
moto_snapshots = Backend.describe_db_snapshots
moto_add_tags = Backend.add_tags_to_resource
moto_remove_tags = Backend.remove_tags_from_resource
moto_endpoint = models.DBInstance.endpoint


def refuse(code, message):
    raise RDSClientError(code, message)


def later(instance, seconds, then):
    instance._due = (time.monotonic() + seconds, then)


def tick(backend):
    """Does what is due; each step may set the next."""
    for instance in list(backend.databases.values()):
        while True:
            due, then = getattr(instance, "_due", (None, None))
            if due is None or time.monotonic() < due:
                break
            instance._due = (None, None)
            then(instance)


def pick_version(engine, wanted):
    known = VERSIONS.get(engine)
    if known is None:
        return wanted
    fitting = [v for v in known if v == wanted or v.startswith(f"{wanted}.")]
    if not fitting:
        refuse("InvalidParameterCombination", f"Cannot find version {wanted} for {engine}")
    return fitting[-1]


def numbers(version):
    return [int(n) for n in re.findall(r"\d+", str(version))]


def check_tags(tags):
    for tag in tags or []:
        key, value = tag["Key"], tag.get("Value", "")
        allowed = re.compile(r"[\w\s.:/=+\-@]*")
        if not 1 <= len(key) <= 128 or len(value) > 256 or not allowed.fullmatch(key) or not allowed.fullmatch(value):
            refuse("InvalidParameterValue", "Tag keys or values have invalid characters or lengths")
    if len(tags or []) > 50:
        refuse("InvalidParameterValue", "Too many tags")


def check_password(password, engine):
    longest = {"postgres": 128, "oracle-se2": 30}.get(engine, 41)
    if not 8 <= len(password) <= longest or re.search(r"[^\x21-\x7e]|[/@\" ]", password):
        refuse(
            "InvalidParameterValue",
            "The parameter MasterUserPassword is not a valid password. Only printable ASCII characters "
            "besides '/', '@', '\"', ' ' may be used.",
        )


def check_size(size, engine):
    if not 20 <= int(size) <= 65536:
        refuse("InvalidParameterValue", f"Invalid storage size for engine name {engine} and storage type gp2: {size}")


def create(self, kw):
    with LOCK:
        tick(self)
        identifier = kw["db_instance_identifier"] = kw["db_instance_identifier"].lower()
        if identifier not in self.databases:
            engine = kw.get("engine")
            check_tags(kw.get("tags"))
            check_size(kw.get("allocated_storage") or 0, engine)
            if kw.get("max_allocated_storage") and kw["max_allocated_storage"] < 1.1 * kw["allocated_storage"]:
                refuse("InvalidParameterCombination", "Max storage size must be at least 10% above storage size")
            if not re.fullmatch(r"db\.[a-z0-9]+\.[a-z0-9]+", kw.get("db_instance_class") or ""):
                refuse("InvalidParameterValue", "Invalid DB Instance class")
            if kw.get("manage_master_user_password"):
                if kw.get("master_user_password"):
                    refuse("InvalidParameterCombination", "ManageMasterUserPassword goes without MasterUserPassword")
            elif not kw.get("master_user_password"):
                refuse("InvalidParameterValue", "The parameter MasterUserPassword must be provided")
            else:
                check_password(kw["master_user_password"], engine)
            if (kw.get("master_username") or "").lower() in ("", "admin" if engine == "postgres" else ""):
                refuse("InvalidParameterValue", "MasterUsername admin cannot be used as it is a reserved word")
            if engine in VERSIONS and kw.get("engine_version"):
                kw["engine_version"] = pick_version(engine, kw["engine_version"])
        instance = moto_create(self, kw)
        instance.dbi_resource_id = "db-" + uuid.uuid4().hex[:26].upper()
        instance.status = "creating"
        instance._made = instance.instance_create_time
        instance.instance_create_time = None

        def made(instance):
            instance.status = "available"
            instance.instance_create_time = instance._made

        later(instance, TIMING["create"], made)
        return instance


def describe(self, *args, **kwargs):
    with LOCK:
        tick(self)
        return moto_describe(self, *args, **kwargs)


def modify(self, identifier, kw):
    with LOCK:
        instance = describe(self, identifier)[0]
        if instance.status not in CHANGEABLE or getattr(instance, "_changing", False):
            refuse("InvalidDBInstanceState", "Database instance is not in available state.")
        size = kw.get("allocated_storage")
        if size is not None and int(size) != instance.allocated_storage:
            size = int(size)
            check_size(size, instance.engine)
            if size < instance.allocated_storage:
                refuse(
                    "InvalidParameterCombination",
                    f"Requested storage size ({size}) cannot be less than the current storage size "
                    f"({instance.allocated_storage}).",
                )
            if instance.status == "storage-optimization":
                refuse(
                    "InvalidParameterCombination",
                    "You can't currently modify the storage of this DB instance because the previous storage "
                    "change is being optimized.",
                )
            kw["allocated_storage"] = max(size, -(-instance.allocated_storage * 11 // 10))
        if kw.get("engine_version"):
            version = kw["engine_version"] = pick_version(instance.engine, kw["engine_version"])
            if numbers(version) < numbers(instance.engine_version):
                refuse("InvalidParameterCombination", f"Cannot upgrade from {instance.engine_version} to {version}")
            parts = 1 if instance.engine == "postgres" else 2
            major = numbers(version)[:parts] != numbers(instance.engine_version)[:parts]
            if major and not kw.get("allow_major_version_upgrade"):
                refuse(
                    "InvalidParameterCombination",
                    "The AllowMajorVersionUpgrade flag must be present when upgrading to a new major version.",
                )
        if kw.get("master_user_password"):
            if instance.manage_master_user_password:
                refuse("InvalidParameterCombination", "The master password is managed by Secrets Manager")
            check_password(kw["master_user_password"], instance.engine)
        wanted = {}
        for attribute in PENDING:
            value = kw.pop(attribute, None)
            if value is not None and value != instance.__dict__.get(f"_{attribute}", instance.__dict__.get(attribute)):
                wanted[attribute] = value
        at_once = bool(kw.get("apply_immediately"))
        answer = moto_modify(self, identifier, kw)
        if not wanted:
            return answer
        shown = {PENDING[a]: ("****" if a == "master_user_password" else v) for a, v in wanted.items()}
        if not at_once and set(wanted) != {"master_user_password"}:
            instance.pending_modified_values = {**(instance.pending_modified_values or {}), **shown}
            return answer
        instance.pending_modified_values = shown
        instance._changing = True
        words = {"engine_version": "upgrading", "allocated_storage": "modifying", "db_instance_class": "modifying"}
        word = next((words[a] for a in words if a in wanted), "resetting-master-credentials")

        def begin(instance):
            instance.status = word
            later(instance, TIMING["modify"], done)

        def done(instance):
            for attribute, value in wanted.items():
                setattr(instance, attribute, value)
            instance.pending_modified_values = {}
            instance._changing = False
            instance.status = "available"
            if "allocated_storage" in wanted:
                instance.status = "storage-optimization"
                later(instance, TIMING["optimise"], lambda i: setattr(i, "status", "available"))

        later(instance, TIMING["begin"], begin)
        return answer


def delete(
    self,
    db_instance_identifier,
    final_db_snapshot_identifier=None,
    skip_final_snapshot=False,
    delete_automated_backups=True,
):
    with LOCK:
        tick(self)
        identifier = db_instance_identifier.lower()
        instance = self.databases.get(identifier)
        snapshot = final_db_snapshot_identifier and final_db_snapshot_identifier.lower()
        if instance is not None:
            if instance.status == "deleting":
                refuse("InvalidDBInstanceState", f"Instance {identifier} is already being deleted.")
            if not skip_final_snapshot and not snapshot:
                refuse(
                    "InvalidParameterCombination",
                    "FinalDBSnapshotIdentifier is required unless SkipFinalSnapshot is specified.",
                )
            if skip_final_snapshot and snapshot:
                refuse(
                    "InvalidParameterCombination",
                    "FinalDBSnapshotIdentifier can not be specified when deleting with SkipFinalSnapshot.",
                )
            allowed = CHANGEABLE if snapshot else DELETABLE
            if instance.status not in allowed and (snapshot or not instance.status.startswith("incompatible-")):
                refuse("InvalidDBInstanceState", f"Instance {identifier} is currently {instance.status}")
        answer = moto_delete(self, identifier, snapshot, skip_final_snapshot, delete_automated_backups)
        instance.status = "deleting"
        self.databases[identifier] = instance  # moto drops it at once
        if snapshot:
            self.database_snapshots[snapshot].status = "creating"

        def gone(instance):
            self.databases.pop(identifier, None)
            if snapshot and snapshot in self.database_snapshots:
                self.database_snapshots[snapshot].status = "available"

        later(instance, TIMING["delete"], gone)
        return answer


def snapshots(self, *args, **kwargs):
    with LOCK:
        tick(self)
        return moto_snapshots(self, *args, **kwargs)


def add_tags(self, arn, tags):
    with LOCK:
        tick(self)
        check_tags(tags)
        return moto_add_tags(self, arn, tags)


def remove_tags(self, arn, keys):
    with LOCK:
        tick(self)
        return moto_remove_tags(self, arn, keys)


Backend.create_db_instance = create
Backend.describe_db_instances = describe
Backend.modify_db_instance = modify
Backend.delete_db_instance = delete
Backend.describe_db_snapshots = snapshots
Backend.add_tags_to_resource = add_tags
Backend.remove_tags_from_resource = remove_tags
models.DBInstance.endpoint = property(
    lambda self: None
    if self.instance_create_time is None
    else {"Address": getattr(self, "_address", None) or moto_endpoint.fget(self)["Address"], "Port": self.port}
)


def backends():
    for account in list(models.rds_backends.values()):
        yield from list(account.values())


def find(identifier):
    for backend in backends():
        if identifier in backend.databases:
            return backend, backend.databases[identifier]
    raise KeyError(identifier)


class Admin(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with LOCK:
            for backend in backends():
                tick(backend)
            if self.path == "/snapshots":
                every = [
                    {"name": s.db_snapshot_identifier, "resourceId": s.dbi_resource_id, "status": s.status}
                    for backend in backends()
                    for s in backend.database_snapshots.values()
                    if s.snapshot_type == "manual"
                ]
            else:
                every = [
                    {
                        "identifier": i.db_instance_identifier,
                        "resourceId": i.dbi_resource_id,
                        "status": i.status,
                        "engineVersion": i.engine_version,
                        "allocatedStorage": i.allocated_storage,
                        "username": i.master_username,
                        "password": i.__dict__.get("_master_user_password"),
                        "deletionProtection": i.deletion_protection,
                        "encrypted": i.storage_encrypted,
                        "tags": {t["Key"]: t["Value"] for t in i.tags},
                    }
                    for backend in backends()
                    for i in backend.databases.values()
                ]
            self.reply(200, every)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        with LOCK:
            if self.path == "/timing":
                TIMING.update(body)
            elif self.path == "/clear":
                for backend in backends():
                    backend.databases.clear()
                    backend.database_snapshots.clear()
            else:
                backend, instance = find(body.pop("identifier"))
                if self.path == "/vanish":
                    backend.databases.pop(instance.db_instance_identifier)
                if "address" in body:
                    instance._address = body.pop("address")
                for attribute, value in body.items():
                    setattr(instance, attribute, copy.deepcopy(value))
        self.reply(200, {})


def loud(service):
    """A fault of this server is told in its log."""
    app = create_backend_app(service)
    app.config["PROPAGATE_EXCEPTIONS"] = True
    return app


if __name__ == "__main__":
    admin = ThreadingHTTPServer(("127.0.0.1", 0), Admin)
    threading.Thread(target=admin.serve_forever, daemon=True).start()
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(loud), threaded=True)
    print("READY " + json.dumps({"api": server.server_port, "admin": admin.server_port}), flush=True)
    server.serve_forever()
