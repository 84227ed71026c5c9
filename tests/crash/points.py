"""One kill at each named fault point of the test binary.

The points are asked from the binary, so a new one is tested without a new test.  Each runs on a
fresh folder through a whole life: first start with its migrations, a key, load with documents of
every size, an orderly stop and a second start.  The process must die at the point somewhere on
that way; then it starts without the fault and the checker looks.  Many points are passed for the
first time during the start, so a second kill comes at a later pass, with documents around.

proves: EX8 RO7 DM2 DE9 DE10 DE11 DE15 FI1 FI5 FI6 FI9
"""

import base64
import hashlib
import http.client
import json
import time

from crash.field import Field
from rig.node import GATEWAY, Api
from rig.process import RigError, end, run, wait_for

LOAD_SECONDS = 4
SOME_LOAD_SECONDS = 0.3
ONLY_AT_START = ("start.", "migrate.")
ELSEWHERE = ("batch.",  # crash/batches.py kills at these
             "parts.", "call.", "answer.", "answers.",  # crash/services.py
             "sftp.", "ftp.", "mail.", "mllp.", "s3.", "sql.",  # crash/peer_scene.py; blackbox/test_42_*.py to test_45_*.py
             "backup.", "restore.", "move.",  # no part of this life: blackbox/test_85_backup.py
             "job.",  # blackbox/test_76_jobs_run.py
             "link.",  # crash/repl.py
             "recover.",  # an older database must be put back: blackbox/test_32_back_in_time.py
             "retain.", "archive.", "compact.")  # days must pass: store/test_retain.c and test_archive.c


def points(rig, databases=("sqlite", "postgres")):
    names = [line.split()[0] for line in run([rig.debug, "fault-points"]).splitlines()
             if not line.startswith(ELSEWHERE)]
    if not names:
        rig.fail("points: the test binary names no fault points")
    reached = {name: [] for name in names}
    for database in databases:
        for number, name in enumerate(names, 1):
            phase = one(rig, database, name, 1)
            if phase:
                reached[name].append(database)
            later = None
            if phase and not name.startswith(ONLY_AT_START):
                later = one(rig, database, name, rig.chance(name).randint(20, 60))
            print(f"crash {database}.points: {number} of {len(names)} {name}: "
                  f"{'killed at ' + phase if phase else 'not passed'}"
                  f"{', later at ' + later if later else ''}", flush=True)
    missed = [name for name, where in reached.items() if not where]
    print(f"crash points: {len(names) - len(missed)} of {len(names)} reached", flush=True)
    if missed:
        rig.fail(f"points: never reached: {' '.join(missed)}")


def one(rig, database, name, passes):
    """Kills at the given pass of a point.  Gives the phase in which the kill came, or None when the point was not passed."""
    store = rig.new_database() if database == "postgres" else None
    scene = f"{database}.points"
    phase = None
    with Field(rig, scene, rig.debug, rig.chance(f"{scene} {name} {passes}"), store=store,
               load_options=("--large", 20000, "--drops", 50)) as field:
        phase = live(field, {"WAYBILL_FAULT": f"{name}:kill:{passes}"})
        if phase:
            field.tally.kills += 1
        else:
            field.node.kill()   # the fault still waits in it
        field.start()
        if field.node.key is None:
            field.node.key_add()
        if field.load is None:
            field.begin_load()
            time.sleep(SOME_LOAD_SECONDS)
    return phase


def live(field, fault):
    """A life with the fault in it, until it strikes."""
    node = field.node
    field.files.begin()
    field.receivers.shake()
    node.begin(fault)
    if not outlives_start(field):
        return "first start"
    try:
        node.key_add()
    except (RigError, json.JSONDecodeError):
        if not died(field):
            raise
        return "key add"
    field.begin_load()
    until = time.monotonic() + LOAD_SECONDS
    number = 0
    while time.monotonic() < until:
        if not node.alive() and died(field):
            return "load"
        number += 1
        edit(field, number)
        time.sleep(0.01)
    end(node.process)
    if died(field):
        return "stop"
    node.begin(fault)
    return None if outlives_start(field) else "second start"


def edit(field, number):
    """A document that no route is for, and an edit of it: dead letters that nobody sent."""
    api = Api(field.node, admin=True)
    try:
        doc = made(field, api, number, "first", f'documentSend(gateway: "{GATEWAY}", ')
        made(field, api, number, "second", f'documentEdit(id: "{doc}", from: router, ')
    except (OSError, http.client.HTTPException, RigError):
        pass    # it died, or refused while it dies: the loop sees that
    finally:
        api.close()


def made(field, api, number, what, begin):
    body = f"by hand: {number} {what}".encode()
    field.checker.strangers.add(hashlib.sha256(body).hexdigest())
    answer = api.graphql("mutation { made: " + begin + f'payload: "{base64.b64encode(body).decode()}", '
                         'metadata: { type: "nobody takes it" }) { id } }', {})
    return answer["made"]["id"]


def outlives_start(field):
    """False when the process is killed before it is ready."""
    try:
        field.node.wait_ready()
        return True
    except RigError:
        if died(field):
            return False
        raise


def died(field):
    """Killed by its own hand, as the fault point does.  An end in any other way is a failure."""
    try:
        wait_for("the end of the node", lambda: not field.node.alive(), 2)
    except RigError:
        return False
    code = field.node.process.returncode
    if code not in (0, -9):
        field.fail(f"the node ended with {code}: {field.node.last_words()}")
    return code == -9
