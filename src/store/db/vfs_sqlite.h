/* vfs_sqlite.h - SQLite's unix file layer (VFS), with syncs counted and log writes gathered.
 *
 * SQLite writes each frame of its write-ahead log in two small pieces.  Here they are
 * gathered and written at the sync that makes them durable at the latest.  No other
 * connection reads a frame before that, because the index of the log names it only after
 * the commit.  A write that fails then fails the sync, and with it the commit, as it would
 * have failed without gathering.
 *
 * xSync passes a fault point and is counted with the other syncs of the process.
 */
#pragma once

#define VFS_SQLITE_NAME "waybill"

void vfs_sqlite_register(void); /* may be called more than once */
