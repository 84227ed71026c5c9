/* cmd_serve.h - `waybill serve`: run a node; `waybill fault-points` in test builds. */
#pragma once

int cmd_serve(int argc, char **argv);
int cmd_fault_points(int argc, char **argv);
