"""What is done to a node under load, and how often.

A scene takes the rig and a count.  Each works in fields (crash/field.py): a field that fails is
kept and reported, the scene goes on with a fresh one, and gives up after FAILED_FIELDS_MOST.
"""

import time

from crash.field import Broken, Field
from rig.process import wait_for

ROUNDS_PER_FIELD = 20
CUTS_PER_FIELD = 10
CUTS_PER_CONTROL = 3
FAILED_FIELDS_MOST = 3
DISK_USED_MOST = 0.6


def in_fields(rig, scene, count, rounds, make, act):
    """Runs `act(field)` `count` times, `rounds` of them per field made by `make()`."""
    done, failed = 0, 0
    while done < count and failed < FAILED_FIELDS_MOST:
        with make() as field:
            field.begin()
            for _ in range(min(rounds, count - done)):
                done += 1
                act(field)
                rig.progress(scene, done, count, field)
                if field.disk is not None and field.disk.used() > DISK_USED_MOST:
                    break
        failed += field.failed
    if failed == FAILED_FIELDS_MOST:
        print(f"  {scene}: given up after {failed} failed folders", flush=True)


def some_load(field, least=0.05, most=0.8):
    """The random moment of the fault."""
    time.sleep(field.chance.uniform(least, most))


def kill(rig, count):
    """kill -9 of the release binary at a random moment under load."""
    chance = rig.chance("kill")

    def act(field):
        some_load(field)
        field.kill()
        field.start()
        field.check()

    in_fields(rig, "sqlite.kill", count, ROUNDS_PER_FIELD,
              lambda: Field(rig, "sqlite.kill", rig.release, chance), act)


def recovery(rig, count):
    """Killed under load, then killed again while it recovers, up to three times in a row."""
    chance = rig.chance("recovery")
    left = count

    def act(field):
        nonlocal left
        some_load(field, 0.1, 0.4)
        field.kill()
        took = field.start_seconds
        for _ in range(min(left, chance.randint(1, 3))):
            field.node.begin()
            time.sleep(chance.uniform(0, took))
            field.kill()
            left -= 1
        field.start()
        field.check()

    rounds = 0
    while left > 0 and rounds < count:
        rounds += 1
        in_fields(rig, "sqlite.recovery", min(left, 5), 5,
                  lambda: Field(rig, "sqlite.recovery", rig.release, chance), act)


def cut(rig, count):
    """Power cuts: the disk forgets what was not synced."""
    chance = rig.chance("cut")

    def act(field):
        some_load(field, 0.1, 0.8)
        field.cut()
        field.start()
        field.check()

    in_fields(rig, "sqlite.cut", count, CUTS_PER_FIELD,
              lambda: Field(rig, "sqlite.cut", rig.release, chance, on_disk=True), act)


def postgres_cut(rig, count):
    """Power cuts of node and PostgreSQL at once, as on one machine."""
    chance = rig.chance("pgcut")

    def act(field):
        some_load(field, 0.1, 0.8)
        field.cut()
        field.start()
        field.check()

    in_fields(rig, "postgres.cut", count, CUTS_PER_FIELD,
              lambda: Field(rig, "postgres.cut", rig.release, chance, on_disk=True,
                            own_cluster=True), act)


def postgres(rig, count):
    """Kills of the node, immediate stops and hard kills of PostgreSQL, in turn."""
    chance = rig.chance("postgres")
    turn = 0

    def act(field):
        nonlocal turn
        faults = (kill_node, stop_database, kill_database)
        some_load(field)
        faults[turn % len(faults)](rig, field)
        turn += 1
        field.check()

    in_fields(rig, "postgres.kill", count, ROUNDS_PER_FIELD,
              lambda: Field(rig, "postgres.kill", rig.release, chance, store=rig.new_database()),
              act)


def kill_node(rig, field):
    field.kill()
    field.start()


def stop_database(rig, field):
    rig.cluster().stop_immediate()
    database_back(rig, field)


def kill_database(rig, field):
    rig.cluster().kill_hard()
    database_back(rig, field)


def database_back(rig, field):
    """The node must outlive its database and go on by itself."""
    field.tally.kills += 1
    some_load(field, 0, 0.3)
    rig.cluster().start()
    if not field.node.alive():
        field.fail("the node ended when PostgreSQL went away: " + field.node.last_words())
    wait_for("/readyz after PostgreSQL came back", field.node.ready, 60, every=0.02)


def control(rig, count):
    """Negative control: with a sync left out, power cuts must show losses."""
    switches = {
        "no-payload-sync": {"WAYBILL_TEST_NO_PAYLOAD_SYNC": "1"},
        "synchronous=off": {"WAYBILL_TEST_SYNCHRONOUS": "off"},
        "no-file-sync": {"WAYBILL_TEST_NO_FILE_SYNC": "1"},
    }
    for name, environment in switches.items():
        lossy = sum(lossy_run(rig, name, environment) for _ in range(count))
        need = -(-count * 3 // 5)
        print(f"control {name}: lossy={lossy} of {count}", flush=True)
        if lossy < need:
            rig.fail(f"control {name}: {lossy} of {count} runs lost something, "
                     f"at least {need} must: the check is blind")


def lossy_run(rig, name, environment):
    """Power cuts of a node that does not sync as it should, until losses are seen; True when they are.

    A machine with little time for it may have written everything out by itself when the first one comes.
    """
    chance = rig.chance(f"control {name}")
    with Field(rig, "control", rig.debug, chance, on_disk=True, wants_loss=True) as field:
        field.begin(environment)
        for _ in range(CUTS_PER_CONTROL):
            time.sleep(chance.uniform(0.6, 1.2))
            field.cut()
            field.start(environment)
            field.check()
        raise Broken("nothing was lost")  # no further checks are needed
    return field.failed
