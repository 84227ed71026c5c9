-- 0029_payload_days - payloads lie in tables of days, which are dropped whole (store/payload/payload_days.h).

-- only: postgresql
ALTER TABLE IF EXISTS payload RENAME TO payload_0;
-- end
