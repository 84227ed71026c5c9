/* vfs_sqlite.h - SQLite's own file layer, with every sync counted.
 *
 * Nothing is changed but xSync of regular files: it passes a fault point and is
 * added to the house's count of syncs.
 */
#pragma once

#define VFS_SQLITE_NAME "waybill"

void vfs_sqlite_register(void); /* once is enough, more do no harm */
