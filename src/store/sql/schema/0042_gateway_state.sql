-- 0042_gateway_state - what a polling gateway remembers from poll to poll (store/govern/gateway_state.h).

-- gateway: name id.  version: a number that no other value of any gateway has.
CREATE TABLE IF NOT EXISTS gateway_state(
    gateway @ROWKEY@, state TEXT NOT NULL, version @INT@ NOT NULL, updated_us @INT@ NOT NULL) @PLAIN@;
