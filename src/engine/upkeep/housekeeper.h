/* housekeeper.h - the clock thread: what must happen now and then.
 *
 * Heartbeat and rescue (PostgreSQL), free space, following holds, pauses and configuration
 * versions, tables of idempotency keys.  Each has its own period; one that fails is reported once
 * and tried again at its next turn.  What it finds it notes with the intake, so that
 * senders are refused at the door.
 */
#pragma once

struct admin_keys;
struct alerts;
struct backlog;
struct batcher;
struct config_node;
struct govern;
struct intake;
struct housekeeper;
struct live;
struct mishaps;
struct road;
struct series;
struct store;
struct controls;
struct ways;

/* Whom it serves; all are lent until keeper_stop(). */
struct housekeeper_parts {
    const struct config_node *node;
    struct store *store;
    struct intake *intake;
    struct govern *govern;
    struct road *road;
    struct live *live;
    struct controls *controls;
    struct admin_keys *admin_keys;
    struct batcher *batcher;
    struct backlog *backlog;
    struct alerts *alerts;
    struct mishaps *mishaps;
    struct series *series;
    struct ways *ways;
};

struct housekeeper *housekeeper_start(const struct housekeeper_parts *parts);
void housekeeper_stop(struct housekeeper *k);
