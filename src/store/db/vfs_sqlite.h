/* vfs_sqlite.h - SQLite's own file layer, with every sync counted and the log written in
 * one piece.
 *
 * SQLite writes each frame of its write-ahead log in two small pieces.  Here they are
 * gathered and written at the sync that makes them durable: nobody reads a frame before
 * that, for the index of the log names it only after the commit.  What cannot be written
 * then fails that sync, and with it the commit, as a failed write would have.
 *
 * xSync of regular files passes a fault point and is added to the house's count of syncs.
 */
#pragma once

#define VFS_SQLITE_NAME "waybill"

void vfs_sqlite_register(void); /* once is enough, more do no harm */
