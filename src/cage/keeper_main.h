/* keeper_main.h - the keeper's own process (keeper.h). */
#pragma once

/* Runs until nobody is left who could ask; returns the exit status. */
int keeper_main(void);
